interface Outside {
  SERVICE: Fetcher & {
    queue(queue: string, messages: object[]): Promise<{ outcome: string; retryMessages: { msgId: string; delaySeconds?: number }[] }>
    scheduled(options: { cron: string; scheduledTime: Date }): Promise<{ outcome: string }>
  }
}

export type Dispatch =
  | { cron: string; time: number }
  | { queue: string; message: { id: string; time: number; attempts: number; body: unknown } }

/** Hands a message, or the tick of a cron, to the service as the platform does, and answers how it ended. */
export default {
  async fetch(request: Request, { SERVICE }: Outside): Promise<Response> {
    const asked = (await request.json()) as Dispatch
    if ('cron' in asked) return Response.json(await SERVICE.scheduled({ cron: asked.cron, scheduledTime: new Date(asked.time) }))
    const { id, time, attempts, body } = asked.message
    return Response.json(await SERVICE.queue(asked.queue, [{ id, timestamp: new Date(time), attempts, body }]))
  },
}

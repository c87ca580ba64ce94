import { expect, it } from 'vitest'
import { limitReadings } from '../../../src/platform/locks/readings.ts'

const ctxOf = (id: string) => ({ organization: { id } }) as Parameters<typeof limitReadings>[0]

it('an organization that asks for much at once does not keep another one waiting', async () => {
  let [running, most] = [0, 0]
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const slow = async () => {
    most = Math.max(most, ++running)
    await released
    running--
  }
  const many = Array.from({ length: 10 }, () => limitReadings(ctxOf('a'), slow))
  const other = await limitReadings(ctxOf('b'), async () => running)
  expect(other).toBeLessThanOrEqual(2)
  release()
  await Promise.all(many)
  expect([most, running]).toEqual([2, 0])
})

it('gives the place back when a reading fails', async () => {
  for (let n = 0; n < 5; n++) await expect(limitReadings(ctxOf('c'), () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await limitReadings(ctxOf('c'), () => Promise.resolve('read'))).toBe('read')
})

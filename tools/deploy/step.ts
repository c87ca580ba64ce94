/** Something that a deployment needs and that is not there yet. */
export interface Task {
  /** As an order: "create the queue …". */
  what: string
  make(): Promise<unknown>
}

/** A part of a deployment. What is missing is looked up anew each time, so that a deployment can be run again after any failure. */
export interface Step {
  title: string
  tasks(): Promise<readonly Task[]>
}

/** The platform ends an invocation after 1,000 D1 statements. The rest belongs to the step that is under way. */
const STATEMENTS = 900
/** Below the 30 seconds that D1 and a request may take. */
const MILLISECONDS = 25_000

/**
 * Iterations of PBKDF2, each of half a microsecond of the processor, during which nothing else runs. A batch of 100 e.firmas as the
 * authority issues them has 204,800.
 */
const ITERATIONS = 400_000

/** The invocation cannot do another step. The rest continues in another invocation. */
export class BudgetUsedUp extends Error {
  constructor() {
    super('The budget of the invocation is used up.')
  }
}

/**
 * The budget of one invocation (a request, a cron, a batch of messages): 900 D1 statements, each statement of a batch counted, 25
 * seconds, and 400,000 iterations of PBKDF2. Every loop over work of any size asks it before each step, and leaves the rest to another invocation.
 */
export class Budget {
  #statements = 0
  #iterations = 0
  #until = performance.now() + MILLISECONDS

  /** Counts one statement. */
  count(): void {
    this.#statements++
  }

  /** Counts the iterations of PBKDF2 that opening a key takes. */
  derive(iterations: number): void {
    this.#iterations += iterations
  }

  /** From now on there are so many milliseconds: waits until now do not count. */
  restart(milliseconds: number): void {
    this.#until = performance.now() + milliseconds
  }

  /** Milliseconds until the time is used up; below 0 afterwards. */
  get left(): number {
    return this.#until - performance.now()
  }

  /** Whether a step of at most so many statements may begin. */
  allows(statements: number): boolean {
    return this.#statements + statements <= STATEMENTS && this.#iterations < ITERATIONS && this.left > 0
  }

  /** Throws BudgetUsedUp unless there are so many statements left: for a first step, without which the next invocation would not get further either. */
  requireStatements(statements: number): void {
    if (this.#statements + statements > STATEMENTS) throw new BudgetUsedUp()
  }

  /** Throws BudgetUsedUp unless a step of at most so many statements may begin. */
  require(statements: number): void {
    if (!this.allows(statements)) throw new BudgetUsedUp()
  }
}

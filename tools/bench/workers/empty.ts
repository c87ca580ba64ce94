import { Hono } from 'hono'

/** The least that a Worker with Hono is. */
export default new Hono()

import { Hono } from 'hono'
import type { App } from '../env.ts'
import { body, publicOperation, returns } from '../http/operation.ts'
import { Signup, SignupDraft } from './contract.ts'
import { signUp } from './team.ts'

export const authRoutes = new Hono<App>().post(
  '/signup',
  publicOperation('signUp', 'Sign-up', 'Create an organization', 'Answers the owner’s credential; its secret is shown this once.'),
  body(SignupDraft),
  returns(201, Signup),
  async (c) => c.json(await signUp(c.var.system, c.req.valid('json')), 201),
)

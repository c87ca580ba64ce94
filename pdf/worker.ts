import { answer } from './answer.ts'

export { SandboxDocuments } from './sandbox.ts'

export default { fetch: answer }

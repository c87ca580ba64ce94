import { writeFileSync } from 'node:fs'
import { openApiFiles } from './openapi-files.ts'

for (const [file, text] of await openApiFiles()) writeFileSync(file, text)

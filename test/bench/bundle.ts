import { readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { measure } from './measures.ts'
import { withRig } from './rig.ts'

export const bundle = measure({
  figures: {
    'bundle.gzip_kib': {
      atMost: 2_048,
      digits: 1,
      meaning: 'The Worker as it would be deployed, gzip, without static assets',
    },
  },
  take: () =>
    withRig(async (rig) => {
      return { 'bundle.gzip_kib': gzipSync(await readFile(rig.bundle)).length / 1024 }
    }),
})

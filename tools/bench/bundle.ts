import { gzipSync } from 'node:zlib'
import { builtWorker } from '../../scripts/build.ts'
import { measure } from './measures.ts'
import { built } from './rig.ts'

export const bundle = measure({
  figures: {
    'bundle.gzip_kib': {
      atMost: 2_048,
      digits: 1,
      meaning: 'The modules of the Worker as they would be deployed, gzip, without static assets',
    },
  },
  async take() {
    await built('service')
    return { 'bundle.gzip_kib': builtWorker().modules.reduce((sum, { contents }) => sum + gzipSync(contents).length, 0) / 1024 }
  },
})

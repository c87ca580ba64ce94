/** A file is sent as a Blob or as bytes, such as a Buffer. */
const WITH_BYTES = `const fs = require('fs'), file = process.argv[1] + '/types.gen.ts'
fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replaceAll('body: Blob | File;', 'body: Blob | Uint8Array;'))`

/** The types and operations of src/api, from the document that the service serves with its test helpers. */
export default {
  input: process.env.DOCUMENT ?? '../../assets/openapi.test.json',
  output: {
    path: process.env.OUTPUT ?? 'src/api',
    module: { extension: '.js' },
    postProcess: [{ command: process.execPath, args: ['-e', WITH_BYTES, '{{path}}'] }],
  },
  logs: { level: 'error', file: false },
  plugins: [
    { name: '@hey-api/client-fetch', throwOnError: true },
    '@hey-api/typescript',
    {
      name: '@hey-api/sdk',
      operations: { strategy: 'single', containerName: 'Operations', methods: 'instance' },
      responseStyle: 'data',
    },
  ],
}

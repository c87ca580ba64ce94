/** The types and operations of src/api, from the document that the service serves with its test helpers. */
export default {
  input: process.env.DOCUMENT ?? '../../assets/openapi.test.json',
  output: { path: process.env.OUTPUT ?? 'src/api', module: { extension: '.js' } },
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

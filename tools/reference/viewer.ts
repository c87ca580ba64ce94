import scalar from '@scalar/fastify-api-reference'
import fastify from 'fastify'

/** The script of the viewer, as its package serves it: the package that is made for browsers would install hundreds of others. */
export async function viewerScript(): Promise<string> {
  const app = fastify()
  await app.register(scalar, {
    routePrefix: '/',
    configuration: { content: { openapi: '3.1.0', info: { title: '', version: '' }, paths: {} } },
  })
  const { body, statusCode } = await app.inject('/js/scalar.js')
  await app.close()
  if (statusCode !== 200) throw new Error(`The viewer answered ${statusCode}.`)
  return body
}

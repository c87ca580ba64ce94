export class Cooldown {}
export class Lane {}
export default { fetch: () => new Response('x') }

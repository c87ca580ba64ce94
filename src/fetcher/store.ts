import type { Database } from '../platform/db/commit.ts'

/** Keeps a signature until an instant, and forgets those whose instants have passed. Returns whether it is new. */
export async function keepSignature({ $client }: Database, mac: string, until: number, now: number): Promise<boolean> {
  const [, kept] = await $client.batch([
    $client.prepare('delete from fetcher_signatures where until < ?1').bind(now),
    $client.prepare('insert into fetcher_signatures (mac, until) values (?1, ?2) on conflict do nothing').bind(mac, until),
  ])
  return kept!.meta.changes > 0
}

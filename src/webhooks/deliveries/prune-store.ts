/** Deletes at most `limit` deliveries and then `limit` events without deliveries, of events before an instant in milliseconds. */
export const pruneStatements = (d1: D1Database, before: number, limit: number): D1PreparedStatement[] => [
  d1
    .prepare(
      `delete from deliveries where (webhook, seq, redelivery) in (
         select d.webhook, d.seq, d.redelivery from webhooks w cross join deliveries d on d.webhook = w.webhook and d.seq < ?1 limit ?2)`,
    )
    .bind(before, limit),
  d1
    .prepare(
      `delete from events where (organization_id, seq) in (
         select e.organization_id, e.seq from organizations o cross join events e on e.organization_id = o.id and e.seq < ?1
         where not exists (
           select 1 from webhooks w cross join deliveries d on d.webhook = w.webhook and d.seq = e.seq where w.organization_id = o.id)
         limit ?2)`,
    )
    .bind(before, limit),
]

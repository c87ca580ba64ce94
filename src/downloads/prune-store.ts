/** Returns the next entities whose number modulo `turns` is `turn`, in ascending order. */
export const entitiesOfTurn = async (ledger: D1Database, turn: number, turns: number, after: number, limit: number): Promise<number[]> =>
  (
    await ledger
      .prepare('select entity from entities where entity > ?1 and entity % ?2 = ?3 order by entity limit ?4')
      .bind(after, turns, turn, limit)
      .raw<[number]>()
  ).flat()

/**
 * Deletes an entity's jobs that finished before an instant and that no extraction refers to. Only organizations that its jobs name can have
 * such extractions.
 */
export const deleteJobs = (ledger: D1Database, entity: number, before: number): D1PreparedStatement =>
  ledger
    .prepare(
      `delete from sync_jobs where entity = ?1 and open = 0 and finished_at < ?2 and job_id not in (
         select m.value
         from (select distinct o.value as organization_id from sync_jobs s, json_each(s.organizations) o where s.entity = ?1) known
         cross join extractions e on e.organization_id = known.organization_id and e.entity = ?1
         cross join json_each(e.jobs) x
         cross join json_each(x.value) m)`,
    )
    .bind(entity, before)

/** Deletes an entity's cancellations that were found before an instant. */
export const deleteCancellations = (ledger: D1Database, entity: number, before: number): D1PreparedStatement =>
  ledger.prepare('delete from cancellations where entity = ?1 and found_at < ?2').bind(entity, before)

import type { TaskKind } from '@prepaint/postgres/tasks'
import type pg from 'pg'

/** Makes every waiting task due so many milliseconds earlier: what a fake clock is for the node, this is for tasks. */
export async function bringForward(pool: pg.Pool, ms: number): Promise<void> {
  await pool.query(`update task set due_at = due_at - $1 * interval '1 millisecond'`, [ms])
}

/** Runs each due task of a kind once, at most `most`, as a runner does. Returns how many ran. Rejects if a run does. */
export async function runDueTasks(pool: pg.Pool, kind: TaskKind, most = 100): Promise<number> {
  const { rows } = await pool.query(
    `select kind, key, account_id as "accountId", payload, failures, lease from claim_tasks($1, $2, 100, interval '1 minute')`,
    [kind.name, most],
  )
  for (const task of rows) {
    const nextMs = await kind.run(task, new AbortController().signal)
    await pool.query(`select end_task($1, $2, $3, $4::float8 * interval '1 millisecond', 0)`, [
      task.kind,
      task.key,
      task.lease,
      nextMs,
    ])
  }
  return rows.length
}

/** As a node at its start. */
export async function askForSubjects(pool: pg.Pool, kind: TaskKind): Promise<void> {
  await pool.query(
    `insert into task (kind, key, account_id, due_at)
     select $1, s.key::text, s.account_id, s.due_at from (${kind.subjects}) s on conflict do nothing`,
    [kind.name],
  )
}

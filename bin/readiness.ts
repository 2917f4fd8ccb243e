import type { CheckReadiness, Readiness } from '../src/api/routes/readiness.ts'

/** The pool, as far as this needs it. */
type Asked = { query(sql: string): Promise<unknown> }

const DATABASE_WITHIN_MS = 2_000

/**
 * Asks the database and looks at the browser each time, so that what a load
 * balancer hears is true now. `isDraining`: the node has been asked to end.
 */
export function createReadinessCheck(deps: {
  pool: Asked
  /** null: this node does not render. */
  renderer: { readonly healthy: boolean } | null
  isDraining(): boolean
}): CheckReadiness {
  return async () => {
    const browser = deps.renderer === null ? 'none' : deps.renderer.healthy ? 'ok' : 'broken'
    const database = (await answers(deps.pool)) ? 'ok' : 'unreachable'
    const state: Readiness['state'] = deps.isDraining() ? 'draining' : 'serving'
    return {
      ready: state === 'serving' && database === 'ok' && browser !== 'broken',
      state,
      database,
      browser,
    }
  }
}

async function answers(pool: Asked): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), DATABASE_WITHIN_MS)
  try {
    return await Promise.race([
      pool.query('select').then(
        () => true,
        () => false,
      ),
      late,
    ])
  } finally {
    clearTimeout(timer)
  }
}

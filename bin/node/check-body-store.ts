import { BodiesRefused, checkBodies } from '@prepaint/pages/store/bodies/check.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { CommandError } from '../command-line/command.ts'
import type { Config } from '../settings/config.ts'

/** Refuses a start with bodies that this node could not read, or would put into the wrong store. */
export async function checkBodyStore({ bodies }: Config, pool: pg.Pool, log: Log): Promise<void> {
  try {
    const { warnings } = await checkBodies(pool, bodies)
    for (const warning of warnings) log.warn(warning)
  } catch (error) {
    if (error instanceof BodiesRefused) throw new CommandError(error.message, { cause: error })
    throw error
  }
}

import { BodyStore, type Direction, wantedStore } from '@prepaint/pages/store/bodies/body-store.ts'
import { admitStore, BodiesRefused, countForeign, countStored } from '@prepaint/pages/store/bodies/check.ts'
import { readBodyFigures } from '@prepaint/pages/store/bodies/figures.ts'
import {
  adoptBodies,
  countInline,
  moveBodies,
  setDirection,
  waitForReserved,
} from '@prepaint/pages/store/bodies/move.ts'
import { StoreRefused, StoreUnreachable } from '@prepaint/pages/store/bodies/s3-client.ts'
import { checkSample } from '@prepaint/pages/store/bodies/sample.ts'
import { shownAddress } from '@prepaint/pages/store/bodies/store-address.ts'
import { CONDEMNED_SECONDS, sweepBodies } from '@prepaint/pages/store/bodies/sweep.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { CommandError, type Commands, defineCommand, type Surroundings } from '../command-line/command.ts'
import { type OpenStore, withDatabase } from '../command-line/open-database.ts'
import { parseChoiceOption, parseCountOption } from '../command-line/options.ts'

const DIRECTIONS: readonly Direction[] = ['store', 'database']
const RATE = { default: '100', most: 10_000 }
const SAMPLE = { default: '100', most: 100_000 }
const MOST_AGE_SECONDS = 10 * 365 * 24 * 3_600

const status = defineCommand({
  options: {},
  async run(_values, around) {
    const { bodies } = around.config
    const found = await withDatabase(around, async ({ pool }) => {
      const figures = await readBodyFigures(pool, 2 ** 31 - 1)
      return {
        store: bodies === null ? null : shownAddress(bodies),
        in_store: await countStored(pool),
        inline: await countInline(pool),
        condemned: figures.condemned,
        oldest_condemned_seconds:
          figures.oldestCondemnedSeconds === null ? null : Math.floor(figures.oldestCondemnedSeconds),
        foreign: await countForeign(pool),
      }
    })
    const lines = [
      `store      ${found.store ?? 'none: PREPAINT_BODIES is not set'}`,
      `in store   ${found.in_store}`,
      `inline     ${found.inline} of more than 2048 bytes in PostgreSQL`,
      `condemned  ${found.condemned}`,
    ]
    if (found.oldest_condemned_seconds !== null) {
      lines[3] += `, the oldest for ${found.oldest_condemned_seconds} seconds`
    }
    if (found.foreign > 0) {
      lines.push(
        `foreign    ${found.foreign} of those in the store may be another database's, and are never deleted: see "prepaint bodies adopt"`,
      )
    }
    return { json: found, text: lines.join('\n') }
  },
})

const move = defineCommand({
  options: {
    to: {
      value: 'SIDE',
      text: 'store or database: nodes put new bodies there, too, within a second',
      required: true,
    },
    rate: { value: 'N', text: `bodies a second (default ${RATE.default}, at most ${RATE.most})` },
  },
  async run(values, around) {
    const to = parseChoiceOption('to', values.to, DIRECTIONS)
    const perSecond = parseCountOption('rate', values.rate ?? RATE.default, RATE.most)
    return withStore(around, async ({ pool }, bodies) => {
      await admit(pool, bodies, to)
      await setDirection(pool, to)
      const total = await moveBodies(pool, bodies, to, { perSecond })
      if (to === 'database') {
        // Objects that were being written when the direction changed may have become bodies of rows.
        await waitForReserved(pool)
        const late = await moveBodies(pool, bodies, to, { perSecond })
        total.moved += late.moved
        total.left = late.left
        total.failed = late.failed
        if (total.left === 0) await sweep(pool, bodies, 0)
      }
      const text = `Moved ${total.moved} bodies to the ${to}; ${total.left} are left, ${total.failed} of them failed.`
      return { json: total, text, exitCode: total.failed === 0 ? 0 : 1 }
    })
  },
})

/** The first move may come before the first start with the setting. A store that does not answer fails each body. */
async function admit(pool: OpenStore['pool'], bodies: BodyStore, to: Direction): Promise<void> {
  if (bodies.client === null) return
  try {
    await admitStore(pool, bodies.client)
  } catch (error) {
    if (error instanceof BodiesRefused) throw new CommandError(error.message, { cause: error })
    const isUnanswered = error instanceof StoreUnreachable || error instanceof StoreRefused
    if (!isUnanswered) throw error
    if (to === 'store' && (await wantedStore(pool)) === null) {
      throw new CommandError(`The object store cannot be used yet: ${error.message}`, { cause: error })
    }
  }
}

const sweepCommand = defineCommand({
  options: {
    'min-age': {
      value: 'SECONDS',
      text: `only objects that were condemned so long ago (default ${CONDEMNED_SECONDS}; 0: all)`,
    },
  },
  async run(values, around) {
    const age = values['min-age'] ?? String(CONDEMNED_SECONDS)
    const minAgeSeconds = age === '0' ? 0 : parseCountOption('min-age', age, MOST_AGE_SECONDS)
    return withStore(around, async ({ pool }, bodies) => {
      const swept = await sweep(pool, bodies, minAgeSeconds)
      return {
        json: swept,
        text: `Deleted ${swept.deleted} objects; ${swept.failed} failed and stay condemned.`,
        exitCode: swept.failed === 0 ? 0 : 1,
      }
    })
  },
})

async function sweep(pool: OpenStore['pool'], { client }: BodyStore, minAgeSeconds: number) {
  try {
    return await sweepBodies(pool, client!, { minAgeSeconds })
  } catch (error) {
    if (error instanceof BodiesRefused) throw new CommandError(error.message, { cause: error })
    throw error
  }
}

const check = defineCommand({
  options: {
    sample: {
      value: 'N',
      text: `how many bodies to read (default ${SAMPLE.default}, at most ${SAMPLE.most})`,
    },
  },
  async run(values, around) {
    const sample = parseCountOption('sample', values.sample ?? SAMPLE.default, SAMPLE.most)
    return withStore(around, async ({ pool }, bodies) => {
      const checked = await checkSample(pool, bodies, sample)
      const { read, missing, damaged, failed } = checked
      return {
        json: checked,
        text: `Read ${read} bodies; ${missing} are missing, ${damaged} damaged, ${failed} could not be read.`,
        exitCode: missing + damaged + failed === 0 ? 0 : 1,
      }
    })
  },
})

const adopt = defineCommand({
  options: {},
  run: (_values, around) =>
    withDatabase(around, async ({ pool }) => {
      const adopted = await adoptBodies(pool)
      const text =
        adopted === 0
          ? 'No body in the object store belongs to another database.'
          : `Adopted ${adopted} bodies: their objects are deleted when their pages change.`
      return { json: { adopted }, text }
    }),
})

/** Throws CommandError if PREPAINT_BODIES is not set. */
async function withStore<T>(
  around: Surroundings,
  work: (store: OpenStore, bodies: BodyStore) => Promise<T>,
): Promise<T> {
  const { config } = around
  if (config.bodies === null)
    throw new CommandError('Set PREPAINT_BODIES to the object store, as the nodes have it.')
  return withDatabase(around, async (store) => {
    const bodies = new BodyStore(config.bodies, store.pool, silentLog())
    try {
      return await work(store, bodies)
    } finally {
      await bodies.close()
    }
  })
}

export const commands: Commands = {
  'bodies status': status,
  'bodies move': move,
  'bodies sweep': sweepCommand,
  'bodies check': check,
  'bodies adopt': adopt,
}

import { Abandoned } from '@prepaint/runtime/abandoned.ts'
import { errorCode } from './connection.ts'

type Waiting<In, Out> = { input: In; resolve(output: Out): void; reject(error: Error): void }

type Group<In, Out> = { waiting: TurnLine<Waiting<In, Out>>; running: number; isPlanned: boolean }

/**
 * Calls of one turn of the event loop share a statement; with `underWay`, also calls that come while that many
 * statements of their group run. `run` returns an output for each input, in order, or none. If the database rejects the content
 * of a batch, its inputs run one by one. With `turnOf`, inputs that wait take turns by what it returns. An input that is not
 * wanted any more when its turn comes is rejected with Abandoned.
 */
export function joined<In, Out>(
  run: (inputs: readonly In[]) => Promise<readonly Out[] | undefined>,
  {
    most,
    underWay = Number.POSITIVE_INFINITY,
    groupOf = () => '',
    turnOf = () => 0,
    isWanted = () => true,
  }: {
    most: number
    underWay?: number
    groupOf?(input: In): string
    turnOf?(input: In): number
    isWanted?(input: In): boolean
  },
): (input: In) => Promise<Out> {
  const groups = new Map<string, Group<In, Out>>()

  const plan = (name: string, group: Group<In, Out>) => {
    if (group.isPlanned || group.running >= underWay) return
    group.isPlanned = true
    setImmediate(() => {
      group.isPlanned = false
      while (!group.waiting.isEmpty && group.running < underWay) start(name, group)
      if (group.running === 0) groups.delete(name)
    })
  }
  const start = (name: string, group: Group<In, Out>) => {
    const batch: Waiting<In, Out>[] = []
    while (batch.length < most) {
      const next = group.waiting.take()
      if (next === undefined) break
      if (isWanted(next.input)) batch.push(next)
      else next.reject(new Abandoned())
    }
    if (batch.length === 0) return
    group.running++
    void runBatch(run, batch).then(() => {
      group.running--
      plan(name, group)
    })
  }
  return (input) =>
    new Promise((resolve, reject) => {
      const name = groupOf(input)
      const group = groups.get(name) ?? { waiting: new TurnLine(), running: 0, isPlanned: false }
      groups.set(name, group)
      group.waiting.add(turnOf(input), { input, resolve, reject })
      plan(name, group)
    })
}

/** A line in which keys take turns: many entries of one key hold up no other. */
class TurnLine<T> {
  readonly #lines = new Map<number, T[]>()

  get isEmpty(): boolean {
    return this.#lines.size === 0
  }

  add(key: number, entry: T): void {
    const line = this.#lines.get(key)
    if (line === undefined) this.#lines.set(key, [entry])
    else line.push(entry)
  }

  /** Takes the next entry out. Its key goes behind the others. */
  take(): T | undefined {
    for (const [key, line] of this.#lines) {
      const entry = line.shift()
      if (this.#lines.size > 1 || line.length === 0) this.#lines.delete(key)
      if (line.length > 0) this.#lines.set(key, line)
      return entry
    }
    return undefined
  }
}

async function runBatch<In, Out>(
  run: (inputs: readonly In[]) => Promise<readonly Out[] | undefined>,
  batch: readonly Waiting<In, Out>[],
): Promise<void> {
  try {
    const outputs = await run(batch.map(({ input }) => input))
    for (const [at, { resolve }] of batch.entries()) resolve(outputs?.[at] as Out)
  } catch (error) {
    // Classes 22 and 23: the content of one of them.
    const isOfOne = batch.length > 1 && /^2[23]/.test(errorCode(error))
    if (isOfOne) for (const one of batch) await runBatch(run, [one])
    else for (const { reject } of batch) reject(error as Error)
  }
}

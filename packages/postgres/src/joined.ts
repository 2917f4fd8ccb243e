import { errorCode } from './connection.ts'

type Waiting<In, Out> = { input: In; resolve(output: Out): void; reject(error: Error): void }

type Group<In, Out> = { waiting: Waiting<In, Out>[]; running: number; isPlanned: boolean }

/**
 * Calls of one turn of the event loop share a statement; with `underWay`, also calls that come while that many
 * statements of their group run. `run` returns an output for each input, in order, or none. If the database rejects the content
 * of a batch, its inputs run one by one.
 */
export function joined<In, Out>(
  run: (inputs: readonly In[]) => Promise<readonly Out[] | undefined>,
  {
    most,
    underWay = Number.POSITIVE_INFINITY,
    groupOf = () => '',
  }: { most: number; underWay?: number; groupOf?(input: In): string },
): (input: In) => Promise<Out> {
  const groups = new Map<string, Group<In, Out>>()

  const plan = (name: string, group: Group<In, Out>) => {
    if (group.isPlanned || group.running >= underWay) return
    group.isPlanned = true
    setImmediate(() => {
      group.isPlanned = false
      while (group.waiting.length > 0 && group.running < underWay) start(name, group)
      if (group.running === 0) groups.delete(name)
    })
  }
  const start = (name: string, group: Group<In, Out>) => {
    group.running++
    void runBatch(run, group.waiting.splice(0, most)).then(() => {
      group.running--
      plan(name, group)
    })
  }
  return (input) =>
    new Promise((resolve, reject) => {
      const name = groupOf(input)
      const group = groups.get(name) ?? { waiting: [], running: 0, isPlanned: false }
      groups.set(name, group)
      group.waiting.push({ input, resolve, reject })
      plan(name, group)
    })
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

import { availableParallelism, totalmem } from 'node:os'

/** The document tells what a machine with two cores and eight gigabytes answers. A smaller one answers otherwise. */
const NEED: Readonly<Record<string, boolean>> = {
  'navigator.hardwareConcurrency at least 2': availableParallelism() >= 2,
  'navigator.deviceMemory at least 4': totalmem() > 4 * 2 ** 30,
  'storage.estimate() of more than a gigabyte': totalmem() > 7 * 2 ** 30,
}

/** One line for each answer that is not the documented one, of those that this machine can give. */
export function differences(
  answers: Readonly<Record<string, string>>,
  documented: Readonly<Record<string, string>>,
): string[] {
  const names = new Set([...Object.keys(answers), ...Object.keys(documented)])
  return [...names]
    .filter((name) => NEED[name] !== false && answers[name] !== documented[name])
    .map((name) => `${name}: ${answers[name]} instead of ${documented[name]}`)
}

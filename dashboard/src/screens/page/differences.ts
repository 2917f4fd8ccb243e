import { diffArrays } from 'diff'

import type { PageFacts } from '../../api/types.ts'

export type Difference =
  | { kind: 'value'; name: string; before: string | null; after: string | null }
  | { kind: 'list'; name: string; removed: string[]; added: string[]; same: number }

/** Of long identical runs only the ends are kept. */
export type Stretch = { kind: 'same' | 'removed' | 'added' | 'skipped'; lines: string[]; count: number }

const VALUES = [
  ['Title', 'title'],
  ['Description', 'description'],
  ['Canonical', 'canonical'],
  ['Robots', 'robots'],
  ['Language', 'lang'],
] as const satisfies readonly (readonly [string, keyof PageFacts])[]

const AROUND = 2
/** A line-by-line comparison of more different lines would take seconds. */
const EDITS_MOST = 4_000

/** Everything except the text. `same`: the names of identical parts. */
export function differences(before: PageFacts, after: PageFacts): { differ: Difference[]; same: string[] } {
  const all: Difference[] = [
    ...VALUES.map(([name, field]) => ({
      kind: 'value' as const,
      name,
      before: before[field],
      after: after[field],
    })),
    list('Headings', before.headings, after.headings),
    list(
      'Links',
      before.links.map(({ href }) => href),
      after.links.map(({ href }) => href),
    ),
    list('Structured data', before.structured.map(nameOfData), after.structured.map(nameOfData)),
    list('Link preview', socialOf(before), socialOf(after)),
  ]
  const isSame = (each: Difference) =>
    each.kind === 'value' ? each.before === each.after : each.removed.length + each.added.length === 0
  return { differ: all.filter((each) => !isSame(each)), same: all.filter(isSame).map(({ name }) => name) }
}

/** null: the texts have almost no line in common. */
export function textDifference(before: readonly string[], after: readonly string[]): Stretch[] | null {
  const parts = diffArrays([...before], [...after], { maxEditLength: EDITS_MOST })
  if (parts === undefined) return null
  return parts.flatMap(({ added, removed, value }, at): Stretch[] => {
    if (added || removed) return [{ kind: added ? 'added' : 'removed', lines: value, count: value.length }]
    const start = at === 0 ? 0 : AROUND
    const end = at === parts.length - 1 ? 0 : AROUND
    const skipped = value.length - start - end
    if (skipped <= 1) return [{ kind: 'same', lines: value, count: value.length }]
    return [
      { kind: 'same' as const, lines: value.slice(0, start), count: start },
      { kind: 'skipped' as const, lines: [], count: skipped },
      { kind: 'same' as const, lines: value.slice(value.length - end), count: end },
    ].filter(({ count }) => count > 0)
  })
}

function list(name: string, before: readonly string[], after: readonly string[]): Difference {
  const [old, now] = [new Set(before), new Set(after)]
  return {
    kind: 'list',
    name,
    removed: [...old].filter((each) => !now.has(each)),
    added: [...now].filter((each) => !old.has(each)),
    same: [...now].filter((each) => old.has(each)).length,
  }
}

function nameOfData({ kind, types, json, isBroken }: PageFacts['structured'][number]): string {
  const name = types.length === 0 ? kind : types.join(', ')
  return `${isBroken ? `${name} (invalid)` : name}${json === '' ? '' : `: ${json.replace(/\s+/g, ' ').slice(0, 300)}`}`
}

function socialOf({ social }: PageFacts): string[] {
  return Object.entries(social).map(([name, value]) => `${name}: ${value}`)
}

import { shortLine } from './short-line.ts'

export type JsonLd = { types: string[]; value: unknown; isBroken: boolean }

const TYPES_LIMIT = 50

/** Reads the content of a JSON-LD script, with its first 50 types. */
export function readJsonLd(contents: string): JsonLd {
  try {
    const value: unknown = JSON.parse(contents)
    return { types: typesOf(value), value, isBroken: false }
  } catch {
    return { types: [], value: undefined, isBroken: true }
  }
}

function typesOf(value: unknown): string[] {
  const things = (Array.isArray(value) ? value : [value]).slice(0, TYPES_LIMIT)
  return things
    .flatMap((thing: unknown) => {
      if (typeof thing !== 'object' || thing === null) return []
      const { '@type': type, '@graph': graph } = thing as Record<string, unknown>
      const types: unknown[] = Array.isArray(type) ? type : [type]
      const own = types.filter((name) => typeof name === 'string')
      return Array.isArray(graph) ? [...own, ...typesOf(graph)] : own
    })
    .map((type) => shortLine(type, 100))
    .slice(0, TYPES_LIMIT)
}

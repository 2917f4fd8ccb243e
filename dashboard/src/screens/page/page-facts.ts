import type { PageFacts } from '../../api/types.ts'

/**
 * How a fact of a page is shown and compared. `value`: one text, in the head of the page. `list`: texts that are
 * compared as a set; `isInHead` shows them with the head. `elsewhere`: another fact or a part of its own shows it.
 */
type FactKind =
  | { kind: 'value'; label: string; read: (facts: PageFacts) => string | null }
  | { kind: 'list'; label: string; read: (facts: PageFacts) => readonly string[]; isInHead: boolean }
  | { kind: 'elsewhere' }

/** All facts on all screens, in order. A new fact of the contract needs its line here, and nothing else. */
const FACTS: Record<keyof PageFacts, FactKind> = {
  title: { kind: 'value', label: 'Title', read: ({ title }) => title },
  description: { kind: 'value', label: 'Description', read: ({ description }) => description },
  canonical: { kind: 'value', label: 'Canonical', read: ({ canonical }) => canonical },
  robots: { kind: 'value', label: 'Robots', read: ({ robots }) => robots },
  lang: { kind: 'value', label: 'Language', read: ({ lang }) => lang },
  headings: { kind: 'list', label: 'Headings', read: ({ headings }) => headings, isInHead: true },
  links: { kind: 'list', label: 'Links', read: linkAddresses, isInHead: false },
  linkCount: { kind: 'elsewhere' },
  structured: { kind: 'list', label: 'Structured data', read: structuredTexts, isInHead: false },
  social: { kind: 'list', label: 'Link preview', read: socialTexts, isInHead: false },
  text: { kind: 'elsewhere' },
  textChars: { kind: 'elsewhere' },
}

export type ComparedFact = { label: string; isList: boolean; read: (facts: PageFacts) => readonly string[] }

/** The facts that two versions of a page are compared by. */
export const COMPARED_FACTS: readonly ComparedFact[] = Object.values(FACTS).flatMap((fact) => {
  if (fact.kind === 'elsewhere') return []
  return [{ label: fact.label, isList: fact.kind === 'list', read: (facts) => textsOf(fact, facts) }]
})

/** The facts in the head of a page, each with its texts. A fact that the page does not have has none. */
export function headFacts(facts: PageFacts): { label: string; texts: readonly string[] }[] {
  return Object.values(FACTS).flatMap((fact) => {
    const isShown = fact.kind === 'value' || (fact.kind === 'list' && fact.isInHead)
    return isShown ? [{ label: fact.label, texts: textsOf(fact, facts) }] : []
  })
}

function textsOf(fact: Exclude<FactKind, { kind: 'elsewhere' }>, facts: PageFacts): readonly string[] {
  if (fact.kind === 'list') return fact.read(facts)
  const value = fact.read(facts)
  return value === null ? [] : [value]
}

function linkAddresses({ links }: PageFacts): string[] {
  return links.map(({ href }) => href)
}

function socialTexts({ social }: PageFacts): string[] {
  return Object.entries(social).map(([name, value]) => `${name}: ${value}`)
}

const DATA_CHARS = 300

function structuredTexts({ structured }: PageFacts): string[] {
  return structured.map(({ kind, types, json, isBroken }) => {
    const type = types.length === 0 ? kind : types.join(', ')
    const name = isBroken ? `${type} (invalid)` : type
    return json === '' ? name : `${name}: ${json.replace(/\s+/g, ' ').slice(0, DATA_CHARS)}`
  })
}

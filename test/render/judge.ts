import assert from 'node:assert/strict'
import type { RenderOutcome } from '../../src/render/outcome.ts'
import { executableScripts, readableText } from '../apps/snapshot-text.ts'
import type { Expectation } from './corpus-page.ts'

/** Fails when the outcome is not the expected one. */
export function judge(outcome: RenderOutcome, expected: Expectation): void {
  assert.equal(outcome.kind, expected.outcome ?? 'rendered', JSON.stringify(outcome).slice(0, 4_000))
  if (outcome.kind !== 'rendered') return
  assert.equal(outcome.status, 200)
  const text = readableText(outcome.html)
  for (const words of expected.reads ?? []) {
    assert(text.includes(words), `"${words}" is not read in: ${text.slice(0, 2_000)}`)
  }
  for (const words of expected.readsNot ?? []) {
    assert(!text.includes(words), `"${words}" is read in: ${text.slice(0, 2_000)}`)
  }
  for (const part of expected.has ?? []) {
    assert(holds(outcome.html, part), `${part} is not in: ${outcome.html.slice(0, 4_000)}`)
  }
  for (const part of expected.hasNot ?? []) {
    assert(!holds(outcome.html, part), `${part} is in: ${outcome.html.slice(0, 4_000)}`)
  }
  assert.deepEqual(executableScripts(outcome.html), [])
}

function holds(html: string, part: string | RegExp): boolean {
  return typeof part === 'string' ? html.includes(part) : part.test(html)
}

import assert from 'node:assert/strict'
import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import type { Expectation } from './corpus-page.ts'

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

/** What a crawler without scripts reads: text outside of scripts, styles and plain templates. */
export function readableText(html: string): string {
  return html
    .replace(/<(script|style)\b[^>]*>[\s\S]*?<\/\1>/gi, ' ')
    .replace(/<template(?![^>]*\bshadowrootmode=)[^>]*>[\s\S]*?<\/template>/gi, ' ')
    .replace(/<!--[\s\S]*?-->|<[^>]*>/g, ' ')
    .replace(/&(lt|gt|amp|quot|nbsp);/g, (_entity, name: string) => ENTITIES[name] ?? ' ')
    .replace(/\s+/g, ' ')
}

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', nbsp: ' ' }

/** Types that a browser runs; everything else in a script element is data (HTML, "prepare the script element"). */
const RUNS = /^$|^module$|^(text|application)\/(x-)?(java|ecma)script\b/i

/** Start tags of what a browser would run or fetch in order to run. */
export function executableScripts(html: string): string[] {
  const scripts = html.match(/<script\b[^>]*>/gi) ?? []
  const preloads = html.match(/<link\b[^>]*\brel="?(modulepreload|preload)\b[^>]*>/gi) ?? []
  return [
    ...scripts.filter((tag) => RUNS.test(/\btype="?([^"\s>]*)/i.exec(tag)?.[1] ?? '')),
    ...preloads.filter((tag) => /modulepreload|\bas="?script/i.test(tag)),
  ]
}

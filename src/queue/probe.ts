import type { DomainName, PagePath } from '../ids.ts'
import { normalisePath } from '../pages/path.ts'
import type { RenderOutcome } from '../render/outcome.ts'
import type { Found } from './effect.ts'
import { type Finding, findingOf, type Look } from './soft-404.ts'

/** What stands before the random letters; the page at `/bot` tells owners of sites about it. */
export const PROBE_PREFIX = '/prepaint-probe-'

const LETTERS = 20

/** An address that no site has. `random`: at least 20 bytes. */
export function probePath(random: Uint8Array): PagePath {
  const letters = [...random.subarray(0, LETTERS)].map((byte) => String.fromCharCode(97 + (byte % 26)))
  return `${PROBE_PREFIX}${letters.join('')}` as PagePath
}

/** Another one that nobody knows; every letter is another. */
function otherPath(path: PagePath): PagePath {
  const letters = [...path.slice(PROBE_PREFIX.length)]
  const turned = letters.map((letter) => String.fromCharCode(97 + ((letter.charCodeAt(0) - 97 + 13) % 26)))
  return `${PROBE_PREFIX}${turned.join('')}` as PagePath
}

/**
 * Looks at a site where it has no page: at two addresses, and at `/` to know
 * that it does not read the same everywhere. Nothing of it is stored as a page.
 * The first crash, or the end of the node, ends it: the job comes again.
 */
export async function probeSite(
  job: { customDomain: DomainName; path: PagePath },
  render: (path: PagePath) => Promise<RenderOutcome>,
): Promise<Found> {
  const looks: Look[] = []
  for (const path of [job.path, otherPath(job.path), '/' as PagePath]) {
    const found = await lookAt(path)
    if ('kind' in found) return found
    looks.push(found)
  }
  const [one, other, home] = looks as [Look, Look, Look]
  return { kind: 'probed', finding: findingOf(one, other, home) }

  async function lookAt(path: PagePath): Promise<Look | Found> {
    let outcome = await render(path)
    // Many sites lead from `/` to their pages in some language.
    const next = path === '/' && outcome.kind === 'redirect' ? ownPath(outcome.location) : null
    if (next !== null) outcome = await render(next)
    if (outcome.kind === 'crashed' || outcome.kind === 'aborted') return outcome
    const moved = outcome.kind === 'rendered' && path !== '/' ? pathOf(outcome.movedTo ?? null) : null
    if (moved !== null && moved !== path) {
      // What is there is a page, which reads like itself.
      return {
        kind: 'probed',
        finding: { kind: 'none', why: `such addresses become ${moved.slice(0, 200)}` },
      }
    }
    if (outcome.kind === 'rendered' && (outcome.status === 200 || path === '/')) {
      return { path, html: outcome.html, application: outcome.application ?? null }
    }
    const isLasting = ['rendered', 'redirect', 'not-html'].includes(outcome.kind)
    const why = `${path === '/' ? 'the home page: ' : ''}${wordsFor(outcome)}`
    return { kind: 'probed', finding: isLasting ? { kind: 'none', why } : null, why }
  }

  function pathOf(address: string | null): string | null {
    return address === null ? null : (URL.parse(address)?.pathname ?? null)
  }

  function ownPath(location: string): PagePath | null {
    const url = URL.parse(location)
    return url?.hostname === job.customDomain ? normalisePath(url.pathname + url.search) : null
  }
}

function wordsFor(outcome: RenderOutcome): string {
  return outcome.kind === 'rendered' ? `status ${outcome.status}` : outcome.kind
}

/** What is written with the job. */
export function probeDetail(finding: Finding | null, why = ''): string {
  if (finding === null) return `could not be judged: ${why}`
  if (finding.kind === 'none') return `no soft 404: ${finding.why}`
  return `pages that do not exist are answered with 200 and ${finding.words.length} words`
}

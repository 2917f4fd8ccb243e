import { createHmac } from 'node:crypto'
import type { DomainProof } from '@prepaint/contract/api/proof.ts'
import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import { scanHtml } from '@prepaint/contract/reading/scan-html.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { installationKey } from '../../fronts/front-secret.ts'

const TOKEN_CHARS = 40
export const PROOF_PATH = '/.well-known/prepaint-proof.txt'
const META_NAME = 'prepaint-proof'
/** A name has at most 127 labels. Nobody publishes a record so far up. */
const MOST_PARENTS = 8

/** What an account publishes to prove that a name is its own. */
export type ProofRecords = DomainProof['records']

/** Returns the token of an account and name: 160 bits, the same whenever the account has the name. */
export async function proofToken(db: Queryable, account: AccountId, name: DomainName): Promise<string> {
  const key = await installationKey(db)
  return createHmac('sha256', key)
    .update(`domain proof ${account} ${name}`)
    .digest('hex')
    .slice(0, TOKEN_CHARS)
}

export function proofRecords(name: DomainName, token: string): ProofRecords {
  const line = proofLine(token)
  return {
    dns: { name: `_prepaint.${name}`, type: 'TXT', value: line },
    file: { url: `https://${name}${PROOF_PATH}`, content: line },
    meta: { tag: `<meta name="${META_NAME}" content="${token}">` },
  }
}

function proofLine(token: string): string {
  return `prepaint-proof=${token}`
}

/**
 * Second labels below which registries of countries register names: `shop.co.uk` is nobody's but its owner's, and `co.uk` is of all.
 * Only what no company uses as its own name is among them.
 */
const OF_REGISTRIES = new Set('ac co com edu go gob gouv gov gv ltd mil ne net nom or org plc sch'.split(' '))

function isOfRegistry(labels: readonly string[]): boolean {
  const [second = '', top = ''] = labels
  return labels.length === 2 && top.length === 2 && OF_REGISTRIES.has(second)
}

/**
 * The names at which the TXT record may stand: of the domain, and of its parents with at least two labels, unless a registry gives
 * names below them to anybody.
 */
export function recordNames(name: DomainName): string[] {
  const labels = name.split('.')
  const names: string[] = []
  for (let at = 0; at <= labels.length - 2 && names.length < MOST_PARENTS; at++) {
    const parent = labels.slice(at)
    if (at === 0 || !isOfRegistry(parent)) names.push(`_prepaint.${parent.join('.')}`)
  }
  return names
}

export function isInTexts(texts: readonly string[], token: string): boolean {
  return texts.some((text) => text.trim() === proofLine(token))
}

/** Sites that answer every path with their home page show what visitors wrote there: a page is no such file. */
export function isInFile(text: string, token: string): boolean {
  if (/^\s*</.test(text)) return false
  return text.split(/\r?\n/).some((line) => line.replace(/^\ufeff/, '').trim() === proofLine(token))
}

/** What may stand in a head. Anything else begins the body (HTML, section 13.2.6.4.4), where visitors may write, too. */
const IN_HEAD = new Set(
  'html head base basefont bgsound link meta title style script noscript template noframes'.split(' '),
)

/** Returns whether the head of a page has the tag. */
export function isInHead(html: string, token: string): boolean {
  let isHead = true
  let isFound = false
  scanHtml(html, {
    text(text) {
      if (text.trim() !== '') isHead = false
    },
    open(name, tag) {
      if (!IN_HEAD.has(name)) isHead = false
      if (!isHead || name !== 'meta') return
      const attributes = attributesOf(tag)
      if (attributes.get('name')?.toLowerCase() === META_NAME && attributes.get('content')?.trim() === token)
        isFound = true
    },
    close(name) {
      if (name === 'head') isHead = false
    },
    raw() {},
  })
  return isFound
}

/** Pages are written by hand and by minifiers, which leave out quotes. The first attribute of a name counts. */
function attributesOf(tag: string): Map<string, string> {
  const attributes = new Map<string, string>()
  const pattern = /\s([a-z-]{1,20})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>=`]+))/gi
  for (const [, name = '', double, single, bare] of tag.matchAll(pattern)) {
    const key = name.toLowerCase()
    if (!attributes.has(key)) attributes.set(key, double ?? single ?? bare ?? '')
  }
  return attributes
}

import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import type { EdgeTarget } from '@prepaint/contract/settings/edge-target.ts'
import { type AddressGuard, isNoRecord, type NameServers } from '@prepaint/outbound'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { askSite, type SiteAnswer, type SitePorts } from './ask-site.ts'
import { areOurs, didLeadHere } from './former-names.ts'
import { publishMark, withdrawMark } from './marks.ts'
import { isInFile, isInHead, isInTexts, PROOF_PATH, proofToken, recordNames } from './proof-records.ts'

/**
 * What answers where the DNS leads. `here`: this installation, at one address at least. `elsewhere`: others only. `none`:
 * the name has no address. `silent`: nothing answers, at addresses that were never this installation's. `unknown`: no name
 * server says where a name leads that did lead here.
 */
type SiteFound = 'here' | 'elsewhere' | 'none' | 'silent' | 'unknown'

export type ProofLook =
  | { kind: 'found'; method: 'dns' | 'file' | 'meta' }
  | {
      kind: 'missing'
      error: string
      /** Whether the name servers said that there is no TXT record of the account. */
      isRecordAbsent: boolean
      site: SiteFound
    }

export type LookParts = {
  guard: AddressGuard
  names: NameServers
  /** Where the DNS of domains must point, if the operator says it: then it need not be found out. */
  target: EdgeTarget | null
  /** What tests replace. */
  ports?: SitePorts
  withinMs?: number
}

const WITHIN_MS = 12_000
const MOST_ADDRESSES = 8
const PORTS = { http: 80, https: 443 }

const NO_SERVERS = 'The name servers did not answer. Try again.'
const IS_HERE =
  'The name leads to this installation, which cannot prove it by its own answers. Add the TXT record: the file and the tag are not looked at.'

/**
 * Looks for the proof of an account where the public DNS leads, never at an origin: the TXT record, the file, the tag.
 * Rejects only if the database does not answer.
 */
export async function lookForProof(
  db: Queryable,
  { account, name }: { account: AccountId; name: DomainName },
  parts: LookParts,
): Promise<ProofLook> {
  const token = await proofToken(db, account, name)
  const texts = await readTexts(parts.names, name)
  if (isInTexts(texts.found, token)) return { kind: 'found', method: 'dns' }
  const look = await lookAtSite(db, token, name, parts)
  if (look.kind === 'found') return look
  return { ...look, error: texts.isKnown ? look.error : NO_SERVERS, isRecordAbsent: texts.isKnown }
}

async function readTexts(
  names: NameServers,
  name: DomainName,
): Promise<{ found: string[]; isKnown: boolean }> {
  const read = await Promise.allSettled(recordNames(name).map((record) => names.texts(record)))
  return {
    found: read.flatMap((each) => (each.status === 'fulfilled' ? each.value : [])),
    isKnown: read.every((each) => each.status === 'fulfilled'),
  }
}

type SiteLook = Exclude<ProofLook, { kind: 'missing' }> | { kind: 'missing'; error: string; site: SiteFound }

function missing(site: SiteFound, error: string): SiteLook {
  return { kind: 'missing', error, site }
}

async function lookAtSite(
  db: Queryable,
  token: string,
  name: DomainName,
  { guard, names, target, ports = PORTS, withinMs = WITHIN_MS }: LookParts,
): Promise<SiteLook> {
  let addresses: string[]
  try {
    const records = await names.records(name)
    addresses = records.addresses.slice(0, MOST_ADDRESSES)
    if (await isTarget(names, target, records)) return missing('here', IS_HERE)
  } catch (error) {
    if (!isNoRecord(error)) return missing((await didLeadHere(db, name)) ? 'unknown' : 'silent', NO_SERVERS)
    addresses = []
  }
  if (addresses.length === 0) {
    return missing('none', 'Found no TXT record, and the name has no address in the DNS.')
  }
  return askAddresses(db, { token, name, addresses }, { guard, ports, withinMs })
}

async function isTarget(
  names: NameServers,
  target: EdgeTarget | null,
  { addresses, aliases }: { addresses: readonly string[]; aliases: readonly string[] },
): Promise<boolean> {
  if (target === null) return false
  if (target.host !== null && aliases.includes(target.host)) return true
  const ours =
    target.host === null
      ? target.addresses
      : await names.lookup(target.host).catch((): readonly string[] => [])
  return addresses.some((address) => ours.includes(address))
}

type AskedSite = { token: string; name: DomainName; addresses: readonly string[] }
type SiteParts = { guard: AddressGuard; ports: SitePorts; withinMs: number }

/** Asks at every address: clients use any of them, so that one that somebody else has proves nothing. */
async function askAddresses(
  db: Queryable,
  { token, name, addresses }: AskedSite,
  { guard, ports, withinMs }: SiteParts,
): Promise<SiteLook> {
  const mark = await publishMark(db)
  const signal = AbortSignal.timeout(withinMs)
  const ask = (path: string) =>
    Promise.all(addresses.map((address) => askSite({ name, address }, path, { guard, mark, ports, signal })))
  const files = await ask(PROOF_PATH)
  const hasFile = isAtEach(files, (text) => isInFile(text, token))
  const pages = hasFile ? [] : await ask('/')
  const isReceived = await withdrawMark(db, mark)
  const answers = [...files, ...pages].filter((answer) => answer !== null)
  // A CDN in front of us may drop the mark, and hands on what the answer says.
  if (isReceived || answers.some(({ isOurs }) => isOurs)) return missing('here', IS_HERE)
  if (hasFile) return { kind: 'found', method: 'file' }
  if (isAtEach(pages, (text) => isInHead(text, token))) return { kind: 'found', method: 'meta' }
  const silent = addresses.filter((_, at) => files[at] === null && pages[at] === null)
  // Nodes may not reach their own public addresses, and somebody may keep them busy just now.
  if (silent.length > 0 && (await areOurs(db, name, silent))) return missing('here', IS_HERE)
  if (answers.length === 0) return missing('silent', 'Found no TXT record, and the site did not answer.')
  return missing('elsewhere', reasonOf(answers, token))
}

/** An address at which nothing answers is left out, but one must answer. */
function isAtEach(answers: readonly (SiteAnswer | null)[], isThere: (text: string) => boolean): boolean {
  const given = answers.filter((answer) => answer !== null)
  return given.length > 0 && given.every(({ text }) => isThere(text))
}

function reasonOf(answers: readonly SiteAnswer[], token: string): string {
  if (answers.some(({ text }) => isInFile(text, token) || isInHead(text, token))) {
    return 'The file or the tag is not at every address of the name.'
  }
  const away = answers.find(({ redirectsTo }) => redirectsTo !== null)
  if (away !== undefined) {
    return `Found no TXT record, and the site redirects to ${away.redirectsTo}, which proves nothing for this name.`
  }
  return 'Found neither the TXT record, nor the file, nor the tag.'
}

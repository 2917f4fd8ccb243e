import assert from 'node:assert/strict'
import { TEST_START_MS } from './api.ts'
import { exampleBody, type Operation } from './api-contract.ts'
import { createTestCa } from './certificate-authority.ts'
import { pngOf } from './pictures.ts'

const NO_ID = '00000000-0000-4000-8000-000000000000'

/** Ids of nothing, by what they are in paths. */
export const NOTHING = {
  ...{ jobId: NO_ID, inspectionId: NO_ID, tryId: NO_ID },
  ...{ keys: 987_654, tokens: 987_654, sessions: 987_654 },
  ...{ endpoints: 987_654, deliveries: 987_654, versions: 987_654, incidents: 987_654 },
  ...{
    templates: 987_654,
    members: 987_654,
    invitations: 987_654,
    account: 987_654,
    heir: 987_654,
    links: 987_654,
  },
}

export type ExampleIds = typeof NOTHING

const CA = createTestCa('ca', TEST_START_MS)
const certificates = new Map<string, { chain: string; key: string }>()

function certificateOf(domain: string): { chain: string; key: string } {
  const made = certificates.get(domain) ?? CA.leaf({ names: [domain] })
  certificates.set(domain, made)
  return made
}

/** Their `domains` name what they are about; elsewhere they are limits. */
const ABOUT_DOMAINS = ['bulk', 'checkDns', 'previewTemplate']

export const EXAMPLE_PASSWORD = 'correct horse'

/** The request that the document describes, about this domain and these things. `newName` is a domain to register. */
export function exampleRequest(
  operation: Operation,
  { domain, newName, ids }: { domain: string; newName: string; ids: ExampleIds },
): { path: string; body: unknown; headers: Record<string, string> } {
  const url = `https://${domain}/`
  const path = operation.url
    .replace('{domain}', domain)
    .replace(/(\w+)\/\{id\}/, (_, kind: keyof ExampleIds) => `${kind}/${ids[kind]}`)
    .replace(/\{(jobId|tryId|inspectionId)\}/, (_, id: keyof ExampleIds) => String(ids[id]))
    .replace(/versions$/, 'versions?kind=redirects')
    .replace('{picture}', 'person')
    .replace('{place}/{side}', '0/before')
    .replace('{url}', encodeURIComponent(url))
    .replace('{key}', 'none')
  assert.doesNotMatch(path, /[{}]|undefined/, 'a parameter without a value')
  const certificate = certificateOf(domain)
  const isShareLink = operation.operationId === 'createShareLink'
  const body = exampleBody(operation, {
    ...{ certificate_chain: certificate.chain, private_key: certificate.key },
    ...{ domain, custom_domain: newName, origin_url: 'https://origin.example.com', is_active: true },
    ...{ settings: { fresh_seconds: 60 }, path: '/amber-1', variant: 'desktop', form: 'html' },
    ...{ paths: ['/', '/amber-1'], urls: ['/', '/amber-1'], all: true, which: 'outdated', paused: true },
    ...{ url, format: 'standard', events: ['domain.live'] },
    emails: [{ email: `${domain.split('.')[0]}@example.net` }],
    ...{ user_agent: 'Googlebot', accept: 'text/html', expires_at: isShareLink ? undefined : null },
    // No two templates have the same name.
    name: operation.operationId === 'updateTemplate' ? 'amber changed' : 'amber new',
    via: 'http://93.184.216.34',
    redirects: [{ from: '/amber-moved', to: '/amber-new' }],
    ...{ crawler: 'Googlebot', category: 'ai', rules: [{ path: '/amber-1', action: 'pass' }] },
    ...{ mode: 'replace', text: 'User-agent: *\nDisallow: /amber-1' },
    ...{ current_password: EXAMPLE_PASSWORD, new_password: EXAMPLE_PASSWORD },
    ...{ id: ids.account, locale: 'en', member_id: ids.heir },
    email: operation.operationId === 'changeAccount' ? undefined : `new-${newName}@example.net`,
    ...{ role: 'viewer', rights: ['read'], second_factor: 'optional', session_hours: 720 },
    domains: isShareLink || ABOUT_DOMAINS.includes(operation.operationId) ? [domain] : null,
    ...{ colour: '#0f6d5e', sender_name: 'Amber', show_prepaint: true },
    ...{ parts: ['traffic'], action: 'warm', tags: ['amber'], template_id: ids.templates },
    ...{ acknowledged: true, note: 'amber note', is_hidden: true },
  })
  if (operation.operationId === 'putLogo') {
    return { path, body: pngOf(2, 2), headers: { 'content-type': 'image/png' } }
  }
  if (operation.operationId !== 'importDomains') return { path, body, headers: {} }
  const csv = `custom_domain,origin_url\nimported.${newName},https://origin.example.com\n`
  return { path, body: csv, headers: { 'content-type': 'text/csv' } }
}

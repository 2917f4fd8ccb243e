import type { Schema } from './docs-page.ts'

/** How each kind of secret is sent, for a shell that has it in a variable. */
const SENDS: Readonly<Record<string, string>> = {
  ApiKey: 'X-Api-Key: $API_KEY',
  BearerKey: 'Authorization: Bearer $API_KEY',
  PrerenderKey: 'X-Prerender-Token: $API_KEY',
  WebhookToken: 'Authorization: Bearer $WEBHOOK_TOKEN',
}

/** As many properties of a body as an example shows where none is required. */
const SHOWN = 2

/** A command for a shell that asks that endpoint; `url` with `{names}` where its parameters stand. */
export function curlFor(method: string, url: string, security: string, body: Schema | undefined): string {
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}"${exampleUrl(url)}"`]
  const header = SENDS[security]
  if (header !== undefined) parts.push(`-H "${header}"`)
  if (security === 'Session') parts.push('-b "$COOKIE"')
  if (body !== undefined) {
    parts.push('-H "Content-Type: application/json"')
    parts.push(`-d '${JSON.stringify(exampleOf(body))}'`)
  }
  return parts.join(' \\\n  ')
}

function exampleUrl(url: string): string {
  return url
    .replace('{domain}', 'shop.example.com')
    .replace('{url}', 'https://shop.example.com/')
    .replace(/\{(\w+)\}/g, '<$1>')
}

/** Something of the right shape; names that everybody knows have values that could be meant. */
function exampleOf(schema: Schema, name = ''): unknown {
  const known = KNOWN[name]
  if (known !== undefined) return known
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf !== undefined) return exampleOf(schema.anyOf[0] ?? {}, name)
  const type = [schema.type].flat()[0]
  if (type === 'array') return [exampleOf(schema.items ?? {}, name.replace(/s$/, ''))]
  if (type === 'integer' || type === 'number') return 1
  if (type === 'boolean') return true
  if (schema.properties === undefined) return type === 'object' ? {} : '...'
  const { required = Object.keys(schema.properties).slice(0, SHOWN) } = schema
  return Object.fromEntries(required.map((key) => [key, exampleOf(schema.properties?.[key] ?? {}, key)]))
}

const KNOWN: Readonly<Record<string, unknown>> = {
  domain: 'shop.example.com',
  custom_domain: 'shop.example.com',
  origin_url: 'https://origin.example.com',
  path: '/about',
  paths: ['/', '/about'],
  urls: ['/', '/about'],
  url: 'https://shop.example.com/',
  email: 'owner@example.com',
  name: 'deploy',
}

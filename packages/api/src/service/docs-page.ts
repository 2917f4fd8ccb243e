import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'

/** The style sheet, and a policy that allows only it, by hash. */
export function pageStyle(): { style: string; policy: string } {
  const style = readFileSync(path.join(import.meta.dirname, 'docs-page.css'), 'utf8')
  const hash = createHash('sha256').update(style).digest('base64')
  return {
    style,
    policy: `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  }
}

/** `title` is text, `body` HTML. */
export function htmlPage(title: string, style: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
${body}
</body>
</html>
`
}

export type ReadableDocument = {
  info: { title: string; version: string; description?: string }
  servers?: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components?: { schemas?: Record<string, Schema> }
}

type Operation = {
  summary?: string
  description?: string
  tags?: string[]
  security?: Record<string, unknown>[]
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses?: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>
}

type Schema = {
  $ref?: string
  type?: string | string[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  enum?: unknown[]
  const?: unknown
}

const SECURITY_WORDS: Readonly<Record<string, string>> = {
  ApiKey: 'Needs an API key: X-Api-Key: <API_KEY>',
  BearerKey: 'Needs an API key: Authorization: Bearer <API_KEY>, or X-Api-Key: <API_KEY>',
  PrerenderKey: 'Needs an API key: X-Prerender-Token: <API_KEY>',
  WebhookToken: 'Needs a webhook token: Authorization: Bearer <WEBHOOK_TOKEN>',
}

/** One HTML page without scripts or external content. */
export function docsPage(document: ReadableDocument, style: string): string {
  const routes = Object.entries(document.paths).flatMap(([url, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ url, method: method.toUpperCase(), operation })),
  )
  const tags = [...new Set(routes.flatMap(({ operation }) => operation.tags ?? []))]
  const tagged = (tag: string) => routes.filter(({ operation }) => operation.tags?.includes(tag))
  const schemas = Object.entries(document.components?.schemas ?? {})
  const { title, version, description } = document.info
  const base = document.servers?.[0]?.url ?? ''
  const server = base.startsWith('http') ? base.replace(/\/$/, '') : '$PREPAINT_URL'

  const body = `<main>
<h1>${escapeHtml(title)} API</h1>
<p class="soft">Version ${escapeHtml(version)} · <a href="#endpoints">All endpoints</a></p>
<p>${prose(description ?? '')}</p>
${server === '$PREPAINT_URL' ? '<p>In the examples, <code>$PREPAINT_URL</code> is the address of this page without its path, and <code>$API_KEY</code> a key of the dashboard.</p>' : '<p>In the examples, <code>$API_KEY</code> is a key of the dashboard.</p>'}
${tags
  .map(
    (tag) =>
      `<h2>${escapeHtml(tag)}</h2>${tagged(tag)
        .map((route) => section(route, server))
        .join('\n')}`,
  )
  .join('\n')}
<h2>Objects</h2>
${schemas.map(([name, schema]) => `<section class="route" id="${name}"><h3>${escapeHtml(name)}</h3><pre>${show(schema, '')}</pre></section>`).join('\n')}
</main>
<aside id="endpoints">
<p class="home"><a href="/domains">Dashboard</a> · <a href="/openapi.json">openapi.json</a></p>
<nav aria-label="Endpoints">${tags
    .map((tag) => `<h4>${escapeHtml(tag)}</h4><ul>${tagged(tag).map(link).join('')}</ul>`)
    .join('')}<h4>Objects</h4><ul>${schemas
    .map(([name]) => `<li><a href="#${escapeHtml(name)}">${escapeHtml(name)}</a></li>`)
    .join('')}</ul></nav>
</aside>`
  return htmlPage(`${title} API`, style, body)
}

type Route = { url: string; method: string; operation: Operation }

function link({ url, method, operation }: Route): string {
  const title = escapeHtml(operation.summary ?? '')
  return `<li><a href="#${anchor(method, url)}" title="${title}"><span class="verb">${method}</span> ${escapeHtml(url.replace(/^\/api\//, '/'))}</a></li>`
}

function section({ url, method, operation }: Route, server: string): string {
  const security = Object.keys(operation.security?.[0] ?? {})[0] ?? ''
  const body = operation.requestBody?.content['application/json']?.schema
  return `<section class="route" id="${anchor(method, url)}">
<h3><span class="method">${method}</span> <code>${escapeHtml(url)}</code></h3>
<p>${escapeHtml(operation.summary ?? '')}</p>
${operation.description === undefined ? '' : `<p>${prose(operation.description)}</p>`}
<p class="soft">${escapeHtml(SECURITY_WORDS[security] ?? 'Needs no key')}</p>
${parameters(operation)}
${body === undefined ? '' : `<h4>Request body</h4><pre>${show(body, '')}</pre>`}
<h4>Example</h4><pre>${escapeHtml(curlFor(method, server + url, security, body))}</pre>
<h4>Answers</h4>
<table>${Object.entries(operation.responses ?? {})
    .map(([status, { description, content }]) => {
      const schema = content?.['application/json']?.schema
      const shown = schema === undefined || Number(status) >= 400 ? '' : `<pre>${show(schema, '')}</pre>`
      return `<tr><th>${status}</th><td>${prose(description)}${shown}</td></tr>`
    })
    .join('')}</table>
</section>`
}

function parameters({ parameters: all = [] }: Operation): string {
  const rows = all.map(({ name, in: place, required = false, description = '', schema = {} }) => {
    const kind = place === 'path' ? 'in the path' : required ? 'required' : 'optional'
    const type = schema.enum === undefined ? '' : `${show(schema, '')}. `
    return `<tr><th><code>${escapeHtml(name)}</code></th><td><span class="soft">${kind}.</span> ${type}${prose(description)}</td></tr>`
  })
  return rows.length === 0 ? '' : `<h4>Parameters</h4><table>${rows.join('')}</table>`
}

function show(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? ''
    return `<a href="#${escapeHtml(name)}">${escapeHtml(name)}</a>`
  }
  if (schema.const !== undefined) return escapeHtml(JSON.stringify(schema.const))
  if (schema.enum !== undefined)
    return escapeHtml(schema.enum.map((value) => JSON.stringify(value)).join(' | '))
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => show(each, indent)).join(' | ')
  if (schema.type === 'array') return `[${show(schema.items ?? {}, indent)}, ...]`
  if (schema.properties === undefined) return escapeHtml([schema.type ?? 'any'].flat().join(' | '))

  const inner = `${indent}  `
  const lines = Object.entries(schema.properties).map(([name, property]) => {
    const optional = schema.required?.includes(name) === true ? '' : '?'
    const words =
      property.description === undefined ? '' : `  <span class="soft">${prose(property.description)}</span>`
    return `${inner}${escapeHtml(name)}${optional}: ${show(property, inner)}${words}`
  })
  return `{\n${lines.join('\n')}\n${indent}}`
}

function anchor(method: string, url: string): string {
  return `${method}${url}`.toLowerCase().replace(/[^a-z0-9]+/g, '-')
}

function prose(text: string): string {
  return escapeHtml(text).replace(/`([^`]*)`/g, '<code>$1</code>')
}

/** How curl sends each kind of secret from a shell variable. */
const SENDS: Readonly<Record<string, string>> = {
  ApiKey: 'X-Api-Key: $API_KEY',
  BearerKey: 'Authorization: Bearer $API_KEY',
  PrerenderKey: 'X-Prerender-Token: $API_KEY',
  WebhookToken: 'Authorization: Bearer $WEBHOOK_TOKEN',
}

const SHOWN = 2

/** A curl command; `url` has `{names}` for its parameters. */
function curlFor(method: string, url: string, security: string, body: Schema | undefined): string {
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

/** An example value; well-known names get realistic ones. */
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

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

import assert from 'node:assert/strict'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

// Checks every response against the served OpenAPI document.

export type Exchange = { method: string; path: string; status: number; type: string | null; text: string }

export type Operation = {
  method: string
  url: string
  security: string | null
  securities: string[]
  body: BodySchema | null
}

type BodySchema = { properties?: Record<string, unknown>; anyOf?: BodySchema[] }

export type Contract = { check(exchange: Exchange): void; operations: Operation[]; compileAll(): void }

type Json = { [key: string]: Json } & { schema?: Json }

/** Names the file in which a run keeps the OpenAPI document: every API describes itself alike, which takes half a second. */
export const SHARED_DOCUMENT = 'PREPAINT_TEST_OPENAPI_DOCUMENT'

export async function readDocument(url: string): Promise<unknown> {
  const shared = process.env[SHARED_DOCUMENT]
  if (shared !== undefined && existsSync(shared)) return JSON.parse(readFileSync(shared, 'utf8'))
  const document = await (await fetch(`${url}/openapi.json`)).text()
  if (shared !== undefined) {
    writeFileSync(`${shared}.${process.pid}`, document)
    renameSync(`${shared}.${process.pid}`, shared)
  }
  return JSON.parse(document)
}

export function readContract(document: unknown): Contract {
  const { paths } = document as { paths: Record<string, Record<string, Json>> }
  const ajv = new Ajv2020({
    ...{ allErrors: true, strict: false, validateFormats: false, validateSchema: false },
    code: { optimize: false },
  })
  ajv.addSchema(document as object, 'openapi')

  const operations: Operation[] = []
  const routes: {
    url: string
    matches: RegExp
    method: string
    /** Compiled on first use: all together take two seconds. */
    answers: Map<string, () => ValidateFunction>
    others: Map<string, string | null>
    /** Statuses whose response may be CSV. */
    alsoCsv: Set<string>
  }[] = []
  for (const [url, methods] of Object.entries(paths)) {
    const matches = new RegExp(`^${url.replace(/\{[^}]+\}/g, '[^/]+')}$`)
    for (const [method, operation] of Object.entries(methods)) {
      const securities = Object.values(operation['security'] ?? {}).flatMap((scheme) =>
        Object.keys(scheme ?? {}),
      )
      operations.push({
        method: method.toUpperCase(),
        url,
        security: securities[0] ?? null,
        securities,
        body: (operation['requestBody']?.['content']?.['application/json']?.schema ??
          null) as BodySchema | null,
      })
      const answers = new Map<string, () => ValidateFunction>()
      const others = new Map<string, string | null>()
      const alsoCsv = new Set<string>()
      for (const [status, response] of Object.entries(operation['responses'] ?? {})) {
        const [type = null, second] = Object.keys(response['content'] ?? {})
        if (second === 'text/csv') alsoCsv.add(status)
        if (type !== 'application/json') {
          others.set(status, type)
          continue
        }
        const pointer = ['paths', url, method, 'responses', status, 'content', 'application/json', 'schema']
        const reference = pointer.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
        const schema = { $ref: `openapi#/${encodeURI(reference)}`, unevaluatedProperties: false }
        answers.set(status, () => ajv.compile(schema))
      }
      routes.push({ url, matches, method: method.toUpperCase(), answers, others, alsoCsv })
    }
  }

  return {
    operations,
    compileAll() {
      for (const { answers } of routes) for (const compiled of answers.values()) compiled()
    },
    check({ method, path, status, type, text }) {
      const pathname = path.split('?', 1)[0]!
      const where = `${method} ${pathname.slice(0, 80)} answered ${status}`
      const route = routes.find(
        (each) => each.matches.test(pathname) && each.method === (method === 'HEAD' ? 'GET' : method),
      )
      const answer = route?.answers.get(String(status))?.()
      if (type?.startsWith('text/csv') === true && route?.alsoCsv.has(String(status)) === true) return
      if (route === undefined) {
        // Without a route, the body is an error and nothing else.
        if (status === 204 || text === '') return
        assert.match(type ?? '', /^application\/json/, where)
        assert.deepEqual(Object.keys(JSON.parse(text) as object), ['error'], where)
        return
      }
      const other = route.others.get(String(status))
      if (other !== undefined) {
        assert.equal(type?.split(';', 1)[0] ?? null, other, where)
        assert(other !== null || text === '', where)
        return
      }
      assert(answer !== undefined, `${where}: the document does not know this status: ${text.slice(0, 200)}`)
      assert.match(type ?? '', /^application\/json/, where)
      if (method === 'HEAD') return
      assert(answer(JSON.parse(text)), `${where}: ${JSON.stringify(answer.errors)} in ${text.slice(0, 500)}`)
    },
  }
}

/** A body with every property of the schema; of several forms, the first. Fails if a property has no value. */
export function exampleBody({ method, url, body }: Operation, values: Record<string, unknown>): unknown {
  if (body === null) return undefined
  const { properties = {} } = body.anyOf?.[0] ?? body
  return Object.fromEntries(
    Object.keys(properties).map((name) => {
      assert(name in values, `${method} ${url} takes ${name}, for which the test has no value`)
      return [name, values[name]]
    }),
  )
}

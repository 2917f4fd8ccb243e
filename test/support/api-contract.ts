import assert from 'node:assert/strict'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

// Checks every response against the served OpenAPI document.

type Exchange = { method: string; path: string; status: number; type: string | null; text: string }

export type Operation = {
  method: string
  url: string
  operationId: string
  security: string | null
  securities: string[]
  body: BodySchema | null
}

type BodySchema = { properties?: Record<string, unknown>; anyOf?: BodySchema[]; oneOf?: BodySchema[] }

/** `compiled`: on first use, because all together take two seconds. */
type Answer = { type: string | null; others: string[]; compiled(): ValidateFunction }

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

export function readContract(document: unknown) {
  const { paths } = document as { paths: Record<string, Record<string, Json>> }
  const ajv = new Ajv2020({
    ...{ allErrors: true, strict: false, validateFormats: false, validateSchema: false },
    code: { optimize: false },
  })
  ajv.addSchema(document as object, 'openapi')

  const operations: (Operation & { matches: RegExp; answers: Map<string, Answer> })[] = []
  for (const [url, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const schemes = Object.values(operation['security'] ?? {})
      const securities = schemes.flatMap((scheme) => Object.keys(scheme ?? {}))
      const answers = new Map<string, Answer>()
      for (const [status, response] of Object.entries(operation['responses'] ?? {})) {
        const [type = null, ...others] = Object.keys(response['content'] ?? {})
        const pointer = ['paths', url, method, 'responses', status, 'content', 'application/json', 'schema']
        const reference = pointer.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1')).join('/')
        const schema = { $ref: `openapi#/${encodeURI(reference)}`, unevaluatedProperties: false }
        answers.set(status, { type, others, compiled: () => ajv.compile(schema) })
      }
      const body = operation['requestBody']?.['content']?.['application/json']?.schema ?? null
      operations.push({
        operationId: String(operation['operationId']),
        ...{ method: method.toUpperCase(), url, security: securities[0] ?? null, securities },
        body: body as BodySchema | null,
        matches: new RegExp(`^${url.replace(/\{[^}]+\}/g, '[^/]+')}$`),
        answers,
      })
    }
  }

  return {
    operations: operations as Operation[],
    compileAll() {
      for (const { answers } of operations)
        for (const { type, compiled } of answers.values()) if (type === 'application/json') compiled()
    },
    check({ method, path, status, type, text }: Exchange) {
      const pathname = path.split('?', 1)[0]!
      const where = `${method} ${pathname.slice(0, 80)} answered ${status}`
      const asked = method === 'HEAD' ? 'GET' : method
      const route = operations.find((each) => each.matches.test(pathname) && each.method === asked)
      if (route === undefined) {
        // Without a route, the body is an error and nothing else.
        if (status === 204 || text === '') return
        assert.match(type ?? '', /^application\/json/, where)
        assert.deepEqual(Object.keys(JSON.parse(text) as object), ['error'], where)
        return
      }
      const answer = route.answers.get(String(status))
      assert(answer !== undefined, `${where}: the document does not know this status: ${text.slice(0, 200)}`)
      const mediaType = type?.split(';', 1)[0] ?? null
      if (mediaType !== null && answer.others.includes(mediaType)) return
      assert.equal(mediaType, answer.type, where)
      if (answer.type === null) assert.equal(text, '', where)
      if (answer.type !== 'application/json' || method === 'HEAD') return
      const validate = answer.compiled()
      assert(
        validate(JSON.parse(text)),
        `${where}: ${JSON.stringify(validate.errors)} in ${text.slice(0, 500)}`,
      )
    },
  }
}

/** A body with every property of the schema; of several forms, the first. Fails if a property has no value. */
export function exampleBody({ method, url, body }: Operation, values: Record<string, unknown>): unknown {
  if (body === null) return undefined
  const { properties = {} } = body.anyOf?.[0] ?? body.oneOf?.[0] ?? body
  return Object.fromEntries(
    Object.keys(properties).map((name) => {
      assert(name in values, `${method} ${url} takes ${name}, for which the test has no value`)
      return [name, values[name]]
    }),
  )
}

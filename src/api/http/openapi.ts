import swagger from '@fastify/swagger'
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod'

import type { ApiApp } from './app.ts'
import { cookieName } from './session-access.ts'

/** Makes the OpenAPI document from the schemas of the routes that are registered after it; `app.swagger()` gives it. */
export async function describeRoutes(
  app: ApiApp,
  options: { version: string; publicUrl: string | null },
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Prepaint',
        version: options.version,
        description:
          'Domains, render cache, traffic and webhooks. All bodies are JSON; what is a table comes as CSV too. Times are UTC.',
      },
      servers: [{ url: options.publicUrl ?? '/' }],
      components: {
        securitySchemes: {
          ApiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
          BearerKey: { type: 'http', scheme: 'bearer' },
          PrerenderKey: { type: 'apiKey', in: 'header', name: 'X-Prerender-Token' },
          Session: {
            type: 'apiKey',
            in: 'cookie',
            name: cookieName(options.publicUrl),
          },
          WebhookToken: { type: 'http', scheme: 'bearer' },
        },
      },
    },
    // Whoever is signed in to the dashboard may do what a key may do.
    transform: (route) => {
      const made = jsonSchemaTransform(route)
      const takesKeys = route.route.config?.access === 'key'
      return takesKeys
        ? { ...made, schema: { ...made.schema, security: [{ ApiKey: [] }, { Session: [] }] } }
        : made
    },
    transformObject: (document) => cleaned(jsonSchemaTransformObject(document)),
  })
}

/**
 * Leaves out what says nothing: every named schema a second time as it were
 * for requests (`DomainInput`), the bounds that any integer has, a format that
 * only zod knows. A body of which no field is required need not be there.
 */
function cleaned(document: object): object {
  return JSON.parse(JSON.stringify(document, cleanedField)) as object
}

function cleanedField(key: string, value: unknown): unknown {
  if ((key === 'maximum' || key === 'minimum') && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER) {
    return undefined
  }
  if (key === 'format' && value === 'starts_with') return undefined
  if (key === 'schemas') {
    return Object.fromEntries(Object.entries(value as object).filter(([name]) => !name.endsWith('Input')))
  }
  if (key === 'requestBody') {
    const body = value as {
      content: { 'application/json': { schema: { type?: string; required?: string[] } } }
    }
    const { type, required = [] } = body.content['application/json'].schema
    return { ...body, required: type !== 'object' || required.length > 0 }
  }
  return value
}

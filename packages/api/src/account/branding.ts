import { brandingAnswer, brandingBody, logoParams } from '@prepaint/contract/api/branding.ts'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import {
  changeBranding,
  deleteLogo,
  findLogo,
  putLogo,
  readBranding,
} from '@prepaint/service/accounts/branding.ts'
import { parseLogo } from '@prepaint/service/accounts/logo.ts'
import { z } from 'zod'
import { actorOf } from '../http/access.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'

const TAG = 'Account'

const LOGO_TYPE = /^image\/(?:png|webp)\s*(?:;|$)/i

export function branding(app: ApiApp, { pool }: ApiParts): void {
  const add = accountRoutes(app, TAG)
  const answer = { 200: jsonResponse('How the account looks', brandingAnswer) }

  add('GET', '/api/account/branding', 'getBranding', {
    summary: 'How the account looks to its clients: name, colour, logo, and who sends letters',
    response: answer,
    handler: async ({ account }) => ({ branding: await readBranding(pool, account) }),
  })

  add('PUT', '/api/account/branding', 'changeBranding', {
    summary: 'Change how the account looks. What is absent stays',
    body: brandingBody,
    response: answer,
    handler: async ({ account }, request) => ({
      branding: await changeBranding(pool, account, actorOf(request), request.body),
    }),
  })

  add('PUT', '/api/account/branding/logo', 'putLogo', {
    summary: 'Set the logo: PNG or WebP, at most 256 KiB, and 1,024 pixels wide and high',
    description: 'It is checked by its bytes. Its address is public, since pictures send no credentials.',
    body: z.unknown().describe('The bytes of the picture'),
    takesPicture: true,
    refuses: ['invalid_field'],
    response: answer,
    handler: async ({ account }, request) => {
      const { body } = request
      const isPicture = Buffer.isBuffer(body) && LOGO_TYPE.test(request.headers['content-type'] ?? '')
      if (!isPicture) throw invalidField(['logo'], 'must be PNG or WebP')
      return { branding: await putLogo(pool, account, actorOf(request), parseLogo(body)) }
    },
  })

  add('DELETE', '/api/account/branding/logo', 'deleteLogo', {
    summary: 'Remove the logo',
    response: answer,
    handler: async ({ account }, request) => ({
      branding: await deleteLogo(pool, account, actorOf(request)),
    }),
  })

  app.route({
    method: 'GET',
    url: '/logos/:key',
    config: { access: 'open', refuses: ['not_found', 'database_unavailable'] },
    schema: {
      operationId: 'readLogo',
      tags: [TAG],
      summary: 'A logo, by its address that cannot be guessed',
      params: logoParams,
      response: {
        200: {
          description: 'The picture',
          content: { 'image/png': { schema: z.unknown() }, 'image/webp': { schema: z.unknown() } },
        },
      },
    },
    handler: async (request, reply) => {
      const logo = await findLogo(pool, request.params.key)
      if (logo === null) throw new AppError('not_found')
      return (
        reply
          // Another logo has another address.
          .header('Cache-Control', 'public, max-age=86400, immutable')
          .type(logo.type)
          .send(logo.bytes)
      )
    },
  })
}

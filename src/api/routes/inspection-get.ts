import type pg from 'pg'
import { z } from 'zod'

import { AppError } from '../../errors.ts'
import { parseJobId } from '../../ids.ts'
import { findInspection, findPicture, PICTURES } from '../../lens/inspections.ts'
import { callerOf } from '../access.ts'
import { answer, KEY_REFUSALS, pictureAnswer, refusals } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { domainParams } from '../domain-schema.ts'
import { inspectionSchema, inspectionView } from '../lens-schema.ts'
import { domainNameOf } from '../owned-domain.ts'
import { STRANGERS_POLICY } from './page-source.ts'

const params = domainParams.extend({ inspectionId: z.string() })

export function inspectionGet(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/inspections/:inspectionId',
    config: { access: 'key' },
    schema: {
      operationId: 'getInspection',
      tags: ['Pages'],
      summary: 'How an inspection stands, and what it found',
      security: [{ ApiKey: [] }],
      params,
      response: {
        200: answer('The inspection', z.object({ inspection: inspectionSchema })),
        ...refusals(...KEY_REFUSALS, 'domain_not_found', 'inspection_not_found'),
      },
    },
    handler: async (request) => {
      const domain = domainNameOf(request.params.domain)
      const id = idOf(request.params.inspectionId)
      const inspection = await findInspection(deps.pool, callerOf(request).account, domain, id)
      if (inspection === null) throw new AppError('inspection_not_found')
      return { inspection: inspectionView(inspection) }
    },
  })

  app.route({
    method: 'GET',
    url: '/api/domains/:domain/inspections/:inspectionId/:picture',
    config: { access: 'key' },
    schema: {
      operationId: 'getInspectionPicture',
      tags: ['Pages'],
      summary: 'A picture that an inspection took',
      security: [{ ApiKey: [] }],
      params: params.extend({
        picture: z
          .enum(PICTURES)
          .describe('What crawlers get, what a person gets, or the picture of a link preview'),
      }),
      response: {
        200: pictureAnswer('The picture'),
        ...refusals(...KEY_REFUSALS, 'invalid_field', 'domain_not_found', 'inspection_not_found'),
      },
    },
    handler: async (request, reply) => {
      const { domain, inspectionId, picture } = request.params
      const found = await findPicture(
        deps.pool,
        callerOf(request).account,
        domainNameOf(domain),
        idOf(inspectionId),
        picture,
      )
      if (found === null) throw new AppError('inspection_not_found')
      return reply.header('Content-Security-Policy', STRANGERS_POLICY).type('image/webp').send(found)
    },
  })
}

/** A UUID, as those of jobs; else no inspection has it. */
function idOf(raw: string): string {
  const id = parseJobId(raw)
  if (id === null) throw new AppError('inspection_not_found')
  return id
}

import type pg from 'pg'
import { z } from 'zod'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { parseJobId } from '../../ids.ts'
import { rendersOfPage } from '../../queue/judging/render-records.ts'
import {
  findInspection,
  findPicture,
  lastInspection,
  PICTURES,
  requestInspection,
} from '../../sites/inspection/inspections.ts'
import { readSnapshot, storedFacts } from '../../sites/inspection/side.ts'
import { findListed } from '../../store/list-pages.ts'
import { listDigests } from '../../store/page-digests.ts'
import { domainNameOf, domainParams, ownedDomain } from '../domains/domain-schema.ts'
import { renderSchema } from '../domains/renders.ts'
import { callerOf } from '../http/access.ts'
import { answer, BODY_REFUSALS, KEY_REFUSALS, pictureAnswer, refusals } from '../http/answer.ts'
import type { ApiApp } from '../http/app.ts'
import {
  digestSchema,
  digestView,
  factsSchema,
  inspectionSchema,
  inspectionView,
} from './inspection-schema.ts'
import { listedPageSchema, listedPageView } from './list.ts'
import { onePage, onePageQuery } from './page-choice.ts'
import { STRANGERS_POLICY } from './source.ts'

export const lensSchema = z.object({
  domain: z.string(),
  path: z.string().describe('As it is stored'),
  stored: listedPageSchema
    .extend({
      etag: z.string(),
      headers: z.array(z.tuple([z.string(), z.string()])).describe('That crawlers get with it, beside ours'),
    })
    .nullable()
    .describe('null: nothing is stored under this path'),
  redirect: z
    .object({ status: z.int(), location: z.string(), stored_at: z.iso.datetime({ precision: 3 }) })
    .nullable()
    .describe('Where crawlers are sent instead; null: nowhere'),
  facts: factsSchema.nullable().describe('What the stored page says'),
  renders: z.array(renderSchema).describe('How its last renders went, newest first'),
  history: z.array(digestSchema).describe('What its last different snapshots said, newest first'),
  inspection: inspectionSchema.nullable().describe('The newest of the last day'),
})

export function pageLens(app: ApiApp, deps: { pool: pg.Pool; clock: Clock }): void {
  app.route({
    method: 'GET',
    url: '/api/domains/:domain/pages/lens',
    config: { access: 'key' },
    schema: {
      operationId: 'lookAtPage',
      tags: ['Pages'],
      summary: 'All that is known of one page: what it says, how its renders went, what it said before',
      security: [{ ApiKey: [] }],
      params: domainParams,
      querystring: onePageQuery,
      response: {
        200: answer('The page', lensSchema),
        ...refusals(...KEY_REFUSALS, 'invalid_field', 'domain_not_found'),
      },
    },
    handler: async (request) => {
      const { pool, clock } = deps
      const domain = await ownedDomain(pool, callerOf(request).account, request.params.domain)
      const page = onePage(domain, request.query.path)
      const [snapshot, listed, renders, history, inspection] = await Promise.all([
        readSnapshot(pool, page),
        findListed(pool, page, domain.settings, clock.nowMs()),
        rendersOfPage(pool, page),
        listDigests(pool, page),
        lastInspection(pool, page),
      ])
      const stored = snapshot?.kind === 'page' ? snapshot : null
      return {
        domain: domain.name,
        path: page.path,
        stored:
          stored === null || listed === null
            ? null
            : { ...listedPageView(listed), etag: stored.etag, headers: [...stored.headers] },
        redirect:
          snapshot?.kind === 'redirect'
            ? {
                status: snapshot.status,
                location: snapshot.location,
                stored_at: new Date(snapshot.renderedAtMs).toISOString(),
              }
            : null,
        facts: stored && storedFacts(stored.html, domain.name, page.path),
        renders,
        history: history.map(digestView),
        inspection: inspection && inspectionView(inspection),
      }
    },
  })
}

const bodySchema = z.object({
  path: z.string().startsWith('/', 'must start with /').describe('The page to look at, stored or not'),
})

export function inspectionCreate(app: ApiApp, deps: { pool: pg.Pool }): void {
  app.route({
    method: 'POST',
    url: '/api/domains/:domain/inspections',
    config: { access: 'key' },
    schema: {
      operationId: 'createInspection',
      tags: ['Pages'],
      summary: 'Look at a page as crawlers and as people get it',
      description:
        'A node that renders shows the stored page without scripts, loads the page in real time as a person does, and takes a picture of both. Asks the origin once; stores nothing that is served, and so counts as no render. At most 60 per account and hour, 5 at a time; whoever asks for a page that is being looked at joins. Findings are kept for a day, those of the last 20.',
      security: [{ ApiKey: [] }],
      params: domainParams,
      body: bodySchema,
      response: {
        201: answer('It is queued, or under way', z.object({ inspection: inspectionSchema })),
        ...refusals(
          ...KEY_REFUSALS,
          ...BODY_REFUSALS,
          'invalid_field',
          'domain_not_found',
          'too_many_inspections',
          'inspection_rate',
        ),
      },
    },
    handler: async (request, reply) => {
      const { account } = callerOf(request)
      const domain = await ownedDomain(deps.pool, account, request.params.domain)
      const page = onePage(domain, request.body.path)
      const inspection = await requestInspection(deps.pool, account, page)
      return reply.code(201).send({ inspection: inspectionView(inspection) })
    },
  })
}

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

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PrepaintSiteOptions } from './index.d.ts'

type FastifyLike = {
  addHook(
    name: 'onRequest',
    hook: (
      request: { raw: IncomingMessage; originalUrl?: string },
      reply: { raw: ServerResponse; hijack(): unknown },
    ) => Promise<void>,
  ): unknown
}

export type PrepaintFastify = (app: FastifyLike) => Promise<void>

export function prepaint(options: PrepaintSiteOptions): PrepaintFastify
export function prepaint(app: FastifyLike, options: PrepaintSiteOptions): Promise<void>

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PrepaintSiteOptions } from './index.d.ts'

export type PrepaintKoa = (
  ctx: { req: IncomingMessage; res: ServerResponse; originalUrl: string; respond?: boolean },
  next: () => Promise<unknown>,
) => Promise<unknown>

export function prepaint(options: PrepaintSiteOptions): PrepaintKoa

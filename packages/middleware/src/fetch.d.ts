import type { PrepaintOptions } from './index.d.ts'

export type PrepaintFetch = (request: Request) => Promise<Response | null>

export function prepaint(options: PrepaintOptions): PrepaintFetch

import type { PrepaintOptions } from './index.d.ts'

export type PrepaintNext = (request: Request) => Promise<Response | undefined>

export function prepaint(options: PrepaintOptions): PrepaintNext

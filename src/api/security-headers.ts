import type { FastifyReply } from 'fastify'

import type { ApiApp } from './app.ts'

/**
 * On every answer: it is nobody's page, frame, script or cache entry. A route
 * that does serve a page replaces the policy by its own. No CORS header is ever
 * sent: browsers keep other sites away.
 */
export const SECURITY_HEADERS = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
} as const

export function sendSecurityHeaders(app: ApiApp): void {
  app.addHook('onRequest', async (_request, reply) => setSecurityHeaders(reply))
}

export function setSecurityHeaders(reply: FastifyReply): void {
  reply.headers(SECURITY_HEADERS)
}

import type { CertificateView } from '../src/certificates/stored-certificate.ts'
import { fields } from './table.ts'

/** A domain's certificate and what is known of the next one, for a person. */
export function certificateText(domain: string, { certificate, order }: CertificateView): string {
  const shown =
    certificate === null
      ? [['certificate', 'none'] as const]
      : ([
          ['certificate', certificate.source === 'own' ? 'supplied by the owner' : 'ordered by ACME'],
          ['names', certificate.names.join(', ')],
          ['issuer', certificate.issuer],
          ['key', certificate.key],
          ['serial', certificate.serial],
          ['from', certificate.not_before],
          ['until', certificate.not_after],
        ] as const)
  const trouble =
    order.last_error === null
      ? []
      : [[`failed (${order.failures})`, `${order.last_error_at}: ${order.last_error}`] as const]
  return fields([['domain', domain], ...shown, ['looked at', order.next_attempt_at ?? '-'], ...trouble])
}

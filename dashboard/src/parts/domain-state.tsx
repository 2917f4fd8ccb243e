import { Badge } from '@mantine/core'

/** Whether crawlers get finished pages. */
export function ActiveBadge({ isActive }: { isActive: boolean }) {
  return (
    <Badge variant="light" color={isActive ? 'paint' : 'gray'} tt="none">
      {isActive ? 'Active' : 'Paused'}
    </Badge>
  )
}

/** Whether a certificate is in use. */
export function HttpsBadge({ hasCertificate }: { hasCertificate: boolean }) {
  return (
    <Badge variant="light" color={hasCertificate ? 'paint' : 'yellow'} tt="none">
      {hasCertificate ? 'HTTPS' : 'No certificate yet'}
    </Badge>
  )
}

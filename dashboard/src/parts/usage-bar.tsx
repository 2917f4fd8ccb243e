import { Progress, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'

import { count } from '../format.ts'

/** Without a limit (null) there is no bar. */
export function UsageBar(props: {
  /** For screen readers. */
  name: string
  used: number
  limit: number | null
  label?: ReactNode
}) {
  const { name, used, limit, label } = props
  const percent = limit === null ? 0 : limit === 0 ? 100 : (used / limit) * 100
  const text = limit === null ? `${count(used)}, no limit` : `${count(used)} of ${count(limit)}`
  return (
    <Stack gap={4} miw={150}>
      <Text size="sm" className="number">
        {label}
        {text}
      </Text>
      {limit !== null && (
        <Progress.Root size="sm">
          <Progress.Section
            value={Math.min(100, Math.round(percent * 10) / 10)}
            color={percent >= 100 ? 'red' : percent >= 80 ? 'yellow' : 'paint'}
            aria-label={`${name}: ${text}`}
          />
        </Progress.Root>
      )}
    </Stack>
  )
}

import { Progress, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'

import { count } from '../format.ts'

const NEARLY_USED_PERCENT = 80

/** Shows a figure and its limit. Without a limit (null) there is no bar. */
export function UsageBar(props: {
  /** Screen readers name the bar so. */
  name: string
  used: number
  limit: number | null
  label?: ReactNode
}) {
  const { name, used, limit, label } = props
  const text = limit === null ? `${count(used)}, no limit` : `${count(used)} of ${count(limit)}`
  return (
    <Stack gap={4} miw={150}>
      <Text size="sm" className="number">
        {label}
        {text}
      </Text>
      {limit !== null && <Bar percent={percentOf(used, limit)} name={`${name}: ${text}`} />}
    </Stack>
  )
}

function Bar({ percent, name }: { percent: number; name: string }) {
  return (
    <Progress.Root size="sm">
      <Progress.Section
        value={Math.min(100, Math.round(percent * 10) / 10)}
        color={barColour(percent)}
        aria-label={name}
      />
    </Progress.Root>
  )
}

/** A limit of 0 is always used up. */
function percentOf(used: number, limit: number): number {
  return limit === 0 ? 100 : (used / limit) * 100
}

function barColour(percent: number): string {
  if (percent >= 100) return 'red'
  return percent >= NEARLY_USED_PERCENT ? 'yellow' : 'paint'
}

import { Progress, Stack, Text } from '@mantine/core'

const NUMBER = new Intl.NumberFormat('en')

export const count = (value: number): string => NUMBER.format(value)

/** `1 page`, `2 pages`. */
export const counted = (value: number, noun: string): string =>
  `${count(value)} ${noun}${value === 1 ? '' : 's'}`

/** Renders used of those of the month. Past the limit the edge goes on until 120 %. */
export function QuotaBar({ used, limit }: { used: number; limit: number }) {
  const percent = limit === 0 ? 100 : (used / limit) * 100
  const color = percent >= 100 ? 'red' : percent >= 80 ? 'yellow' : 'paint'
  const text = `${count(used)} of ${count(limit)}`
  return (
    <Stack gap={4} miw={150}>
      <Text size="sm" className="number">
        {text}
      </Text>
      <Progress.Root size="sm">
        <Progress.Section
          value={Math.min(100, Math.round(percent * 10) / 10)}
          color={color}
          aria-label={`Renders used: ${text}`}
        />
      </Progress.Root>
    </Stack>
  )
}

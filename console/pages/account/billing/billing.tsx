import { useQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import { billingQuery } from '../../../api/queries.ts'
import type { Billing, OfferedPlan } from '../../../api/routes.d.ts'
import { count, instant, money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Call, Figures, Panel, Title } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { useMayWrite, useZone } from '../../../session.ts'
import css from '../account.module.css'
import { Invoices, Seats } from './lists.tsx'
import { Usage } from './usage.tsx'
import { words } from './words.ts'

const TONES: Record<Billing['state'], Tone> = {
  trialing: 'going',
  active: 'good',
  past_due: 'wait',
  suspended: 'bad',
  diagnostic_expired: 'bad',
}

/** A number that may have no limit. */
const useLimit = () => {
  const { unlimited } = useWords(words)
  return (value: number | null) => (value === null ? unlimited : count(value))
}

function Standing({ billing, name }: { billing: Billing; name: string }) {
  const t = useWords(words)
  const zone = useZone()
  const limit = useLimit()
  const { state, seats, amount_due, currency, open_invoices, trial_ends_at, grace_until } = billing
  // Without an end of its own, the trial of the e-mail address was another organization's.
  const isTrialUsed = state === 'diagnostic_expired' && trial_ends_at === null
  const said = {
    ...t.say,
    trialing: t.say.trialing(instant(trial_ends_at, zone)),
    past_due: t.say.past_due(instant(grace_until, zone)),
  }
  return (
    <Panel>
      <Figures
        figures={[
          { name: t.plan, value: name },
          { name: t.seats, value: count(seats.used), note: t.ofSeats(limit(seats.allowance)) },
          { name: t.due, value: money(amount_due, currency), note: open_invoices > 0 && t.open(count(open_invoices)) },
        ]}
      />
      <p class={css.row}>
        <Badge tone={TONES[state]}>{isTrialUsed ? t.noTrial : t.state[state]}</Badge>
        {isTrialUsed ? t.trialUsed : said[state]}
      </p>
    </Panel>
  )
}

function Buy({ checkout }: { checkout: NonNullable<OfferedPlan['checkout']> }) {
  const t = useWords(words)
  const mayBuy = useMayWrite()
  const label = t.buy[checkout.item](money(checkout.total, checkout.currency))
  return (
    <span class={css.row}>
      {mayBuy ? (
        <a href={checkout.url} target="_blank" rel="noreferrer">
          {label}
        </a>
      ) : (
        <Button small needs="admin">
          {label}
        </Button>
      )}
      <small>{t.buyHint}</small>
    </span>
  )
}

function Plans({ plans }: { plans: readonly OfferedPlan[] }) {
  const t = useWords(words)
  const limit = useLimit()
  return (
    <Panel title={t.plans} lead={t.plansLead} flush>
      <Table<OfferedPlan>
        label={t.plans}
        rows={plans}
        keyOf={({ plan }) => plan}
        columns={[
          {
            name: t.plan,
            cell: ({ name, is_current }) => (
              <span class={css.row}>
                <b>{name}</b>
                {is_current && <Badge tone="good">{t.current}</Badge>}
              </span>
            ),
          },
          { name: t.month, end: true, cell: ({ prices }) => (prices ? money(prices.month, prices.currency) : t.free) },
          { name: t.perRfc, end: true, cell: ({ prices }) => (prices ? money(prices.rfc, prices.currency) : t.free) },
          { name: t.included, end: true, cell: ({ seats_included }) => limit(seats_included) },
          { name: t.action, cell: ({ checkout }) => checkout && <Buy checkout={checkout} /> },
        ]}
      />
    </Panel>
  )
}

export default function BillingPage() {
  const t = useWords(words)
  const billing = useQuery(billingQuery)
  const plans = useQuery({ queryKey: ['billing-plans'], queryFn: () => answer(api.GET('/v1/billing/plans')) })
  const nameOf = (plan: string) => plans.data?.data.find((one) => one.plan === plan)?.name ?? plan
  return (
    <>
      <Title text={t.title} lead={t.lead} />
      <Loaded query={billing} rows={1}>
        {(data) => <Standing billing={data} name={nameOf(data.plan)} />}
      </Loaded>
      <Loaded query={plans} rows={3}>
        {({ data }) => <Plans plans={data} />}
      </Loaded>
      <Seats />
      <Usage />
      <Invoices />
      <Call call="GET /v1/billing" />
    </>
  )
}

export type Form = Record<string, string>

/** What an object of Stripe's is, as far as it is used. */
export interface Customer {
  id: string
  created: number
  name: string
  email: string | null
  metadata: Form
}

export interface StripeInvoice {
  id: string
  created: number
  customer: string
  currency: string
  status: 'draft' | 'open' | 'paid' | 'void'
  auto_advance: boolean
  /** Of its items. */
  total: number
  items: number
  finalized: number
  invoice_pdf: string | null
  metadata: Form
}

export class Refusal extends Error {
  readonly status: number
  readonly type: string

  constructor(status: number, type: string) {
    super(type)
    this.status = status
    this.type = type
  }
}

const missing = () => new Refusal(404, 'resource_missing')
const metadataOf = (form: Form): Form =>
  Object.fromEntries(Object.entries(form).flatMap(([name, value]) => (name.startsWith('metadata[') ? [[name.slice(9, -1), value]] : [])))

/** What there is at Stripe, and what its methods do to it. */
export class StripeObjects {
  readonly customers: Customer[] = []
  readonly invoices: StripeInvoice[] = []
  #made = 0

  ask(path: string, query: Form): unknown {
    const [, , noun, id] = path.split('/')
    if (noun === 'customers' && id === undefined)
      return this.#page(this.customers, query, ({ created }) => created >= Number(query['created[gte]']))
    if (noun === 'invoices' && id === undefined) return this.#page(this.invoices, query, ({ customer }) => customer === query['customer'])
    if (noun === 'invoices') return this.#invoice(id)
    throw missing()
  }

  do(path: string, form: Form): unknown {
    const [, , noun, id, verb] = path.split('/')
    if (noun === 'checkout') return this.#session()
    if (noun === 'customers') return id === undefined ? this.#newCustomer(form) : this.#changeCustomer(id, form)
    if (noun === 'invoices' && id === undefined) return this.#newInvoice(form)
    if (noun === 'invoiceitems') return this.#newItem(form)
    if (noun === 'invoices' && verb === 'finalize') return this.#finalize(id, form)
    throw missing()
  }

  #id = (kind: string): string => `${kind}_${++this.#made}`
  #now = (): number => Math.floor(Date.now() / 1_000)

  /** Newest first. Two to a page, so that there are several. */
  #page<T extends { id: string }>(all: T[], { starting_after }: Form, isIn: (one: T) => boolean) {
    const listed = all.filter(isIn).reverse()
    const from = starting_after === undefined ? 0 : listed.findIndex(({ id }) => id === starting_after) + 1
    return { object: 'list', data: listed.slice(from, from + 2), has_more: listed.length > from + 2 }
  }

  #invoice(id: string | undefined): StripeInvoice {
    const invoice = this.invoices.find((one) => one.id === id)
    if (!invoice) throw missing()
    return invoice
  }

  #draft(id: string | undefined): StripeInvoice {
    const invoice = this.#invoice(id)
    if (invoice.status !== 'draft') throw new Refusal(400, 'invoice_not_editable')
    return invoice
  }

  #session() {
    const id = this.#id('cs')
    return { id, url: `https://checkout.stripe.test/${id}` }
  }

  #newCustomer(form: Form): Customer {
    const { name = '', email = null } = form
    const customer = { id: this.#id('cus'), created: this.#now(), name, email, metadata: metadataOf(form) }
    this.customers.push(customer)
    return customer
  }

  #changeCustomer(id: string, { name, email }: Form): Customer {
    const customer = this.customers.find((one) => one.id === id)
    if (!customer) throw missing()
    return Object.assign(customer, name !== undefined && { name }, email !== undefined && { email })
  }

  #newInvoice(form: Form): StripeInvoice {
    const { customer = '', currency = '', auto_advance } = form
    if (!this.customers.some(({ id }) => id === customer)) throw missing()
    const invoice: StripeInvoice = {
      ...{
        id: this.#id('in'),
        created: this.#now(),
        customer,
        currency,
        metadata: metadataOf(form),
        auto_advance: auto_advance === 'true',
      },
      ...{ status: 'draft', total: 0, items: 0, finalized: 0, invoice_pdf: null },
    }
    this.invoices.push(invoice)
    return invoice
  }

  #newItem({ invoice: id, amount, currency, customer }: Form) {
    const invoice = this.#draft(id)
    if (invoice.currency !== currency || invoice.customer !== customer) throw new Refusal(400, 'parameter_invalid')
    invoice.total += Number(amount)
    invoice.items++
    return { id: this.#id('ii') }
  }

  #finalize(id: string | undefined, { auto_advance }: Form): StripeInvoice {
    const invoice = this.#draft(id)
    const status = invoice.total === 0 ? 'paid' : 'open'
    const invoice_pdf = `https://pay.stripe.test/${id}/pdf`
    return Object.assign(invoice, { status, invoice_pdf, auto_advance: auto_advance === 'true', finalized: invoice.finalized + 1 })
  }
}

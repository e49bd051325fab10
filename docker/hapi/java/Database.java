import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.jpa.api.IDaoRegistry;
import ca.uhn.fhir.jpa.api.config.JpaStorageSettings;
import ca.uhn.fhir.jpa.api.dao.IFhirSystemDao;
import ca.uhn.fhir.jpa.binstore.DatabaseBinaryContentStorageSvcImpl;
import ca.uhn.fhir.jpa.config.util.HapiEntityManagerFactoryUtil;
import ca.uhn.fhir.jpa.config.util.ResourceCountCacheUtil;
import ca.uhn.fhir.jpa.dao.FulltextSearchSvcImpl;
import ca.uhn.fhir.jpa.dao.IFulltextSearchSvc;
import ca.uhn.fhir.jpa.dao.search.HSearchSortHelperImpl;
import ca.uhn.fhir.jpa.dao.search.IHSearchSortHelper;
import ca.uhn.fhir.jpa.model.config.PartitionSettings;
import ca.uhn.fhir.jpa.model.config.SubscriptionSettings;
import ca.uhn.fhir.jpa.model.dialect.HapiFhirH2Dialect;
import ca.uhn.fhir.jpa.model.entity.StorageSettings;
import ca.uhn.fhir.jpa.provider.DaoRegistryResourceSupportedSvc;
import ca.uhn.fhir.jpa.search.DatabaseBackedPagingProvider;
import ca.uhn.fhir.jpa.search.IStaleSearchDeletingSvc;
import ca.uhn.fhir.jpa.search.StaleSearchDeletingSvcImpl;
import ca.uhn.fhir.jpa.subscription.match.deliver.email.IEmailSender;
import ca.uhn.fhir.jpa.util.ResourceCountCache;
import ca.uhn.fhir.rest.api.IResourceSupportedSvc;
import ca.uhn.fhir.rest.server.util.ISearchParamRegistry;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.persistence.EntityManagerFactory;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import javax.sql.DataSource;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.transaction.annotation.EnableTransactionManagement;

/** Where resources are kept, and by which rules: an H2 database in memory, the defaults of the official image. */
@Configuration
@EnableTransactionManagement
public class Database {

  /** What the image accepts, refuses, counts and keeps. Each line is a default of its application.yaml. */
  @Bean
  JpaStorageSettings storageSettings() {
    var rules = new JpaStorageSettings();

    // references
    rules.setAllowExternalReferences(false);
    rules.setAutoCreatePlaceholderReferenceTargets(false);
    rules.setEnforceReferentialIntegrityOnWrite(true);
    rules.setEnforceReferentialIntegrityOnDelete(true);
    rules.setTreatReferencesAsLogical(logicalAddresses());

    // ids, versions, deletion
    rules.setResourceServerIdStrategy(JpaStorageSettings.IdStrategyEnum.SEQUENTIAL_NUMERIC);
    rules.setResourceClientIdStrategy(JpaStorageSettings.ClientIdStrategyEnum.ALPHANUMERIC);
    rules.setResourceDbHistoryEnabled(true);
    rules.setDeleteEnabled(true);
    rules.setAllowMultipleDelete(false);
    rules.setExpungeEnabled(true);
    rules.setDeleteExpungeEnabled(false);
    rules.setStoreMetaSourceInformation(JpaStorageSettings.StoreMetaSourceInformationEnum.NONE);

    // searching
    rules.setAllowContainsSearches(true);
    rules.setFilterParameterEnabled(true);
    rules.setIndexMissingFields(StorageSettings.IndexEnabledEnum.DISABLED);
    rules.setIndexIdentifierOfType(false);
    rules.setIndexOnContainedResources(false);
    rules.setDefaultSearchParamsCanBeOverridden(true);
    rules.setMatchUrlCacheEnabled(false);
    rules.setMassIngestionMode(false);
    rules.setFetchSizeDefaultMaximum(Integer.MAX_VALUE);
    rules.setSearchPreFetchThresholds(List.of(13, 503, 2003, -1));
    rules.setReuseCachedSearchResultsForMillis(60L * 1000);
    rules.setExpireSearchResultsAfterMillis(60L * 60 * 1000);

    // terminology, bundles
    rules.setPreExpandValueSets(true);
    rules.setPreExpandValueSetsDefaultCount(1000);
    rules.setPreExpandValueSetsMaxCount(1000);
    rules.setMaximumExpansionSize(1000);
    rules.setDeferIndexingForCodesystemsOfSize(100);
    rules.setBundleBatchPoolSize(100);
    return rules;
  }

  private static Set<String> logicalAddresses() {
    var addresses = new LinkedHashSet<String>();
    for (String host : List.of("terminology.hl7.org", "snomed.info", "unitsofmeasure.org", "loinc.org")) {
      addresses.add("http://" + host + "/*");
      addresses.add("https://" + host + "/*");
    }
    return addresses;
  }

  @Bean
  DataSource dataSource() {
    var pool = new HikariConfig();
    pool.setJdbcUrl("jdbc:h2:mem:record;DB_CLOSE_DELAY=-1");
    pool.setUsername("sa");
    pool.setPassword("");
    pool.setMaximumPoolSize(10);
    return new HikariDataSource(pool);
  }

  @Bean
  LocalContainerEntityManagerFactoryBean entityManagerFactory(
      ConfigurableListableBeanFactory beans, FhirContext fhir, JpaStorageSettings rules, DataSource source) {
    var hibernate = new Properties();
    hibernate.put("hibernate.dialect", HapiFhirH2Dialect.class.getName());
    hibernate.put("hibernate.hbm2ddl.auto", "update");
    hibernate.put("hibernate.jdbc.batch_size", "20");
    hibernate.put("hibernate.search.enabled", "false");
    hibernate.put("hibernate.cache.use_query_cache", "false");
    hibernate.put("hibernate.cache.use_second_level_cache", "false");
    var entities = HapiEntityManagerFactoryUtil.newEntityManagerFactory(beans, fhir, rules);
    entities.setPersistenceUnitName("HAPI_PU");
    entities.setDataSource(source);
    entities.setJpaProperties(hibernate);
    return entities;
  }

  @Bean
  JpaTransactionManager transactionManager(EntityManagerFactory entities) {
    return new JpaTransactionManager(entities);
  }

  /** Twenty to a page where the client does not say how many, and no most. */
  @Bean
  DatabaseBackedPagingProvider databaseBackedPagingProvider() {
    var pages = new DatabaseBackedPagingProvider();
    pages.setDefaultPageSize(20);
    pages.setMaximumPageSize(Integer.MAX_VALUE);
    return pages;
  }

  // What HAPI's own configuration asks of whoever assembles it; nothing of it is switched on.

  @Bean
  PartitionSettings partitionSettings() {
    return new PartitionSettings();
  }

  @Bean
  SubscriptionSettings subscriptionSettings() {
    return new SubscriptionSettings();
  }

  @Bean
  IEmailSender emailSender() {
    return message -> {};
  }

  @Bean
  DatabaseBinaryContentStorageSvcImpl binaryStorage() {
    return new DatabaseBinaryContentStorageSvcImpl();
  }

  @Bean
  IFulltextSearchSvc fullTextSearch() {
    return new FulltextSearchSvcImpl();
  }

  @Bean
  IHSearchSortHelper sortHelper(ISearchParamRegistry parameters) {
    return new HSearchSortHelperImpl(parameters);
  }

  @Bean
  IStaleSearchDeletingSvc staleSearches() {
    return new StaleSearchDeletingSvcImpl();
  }

  @Bean
  IResourceSupportedSvc supportedTypes(IDaoRegistry types) {
    return new DaoRegistryResourceSupportedSvc(types);
  }

  @Bean("myResourceCountsCache")
  ResourceCountCache resourceCounts(IFhirSystemDao<?, ?> system) {
    return ResourceCountCacheUtil.newResourceCountCache(system);
  }
}

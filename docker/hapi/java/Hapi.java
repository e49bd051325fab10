import ca.uhn.fhir.batch2.jobs.bulkmodify.reindex.ReindexProvider;
import ca.uhn.fhir.batch2.jobs.config.Batch2JobsConfig;
import ca.uhn.fhir.context.support.IValidationSupport;
import ca.uhn.fhir.jpa.api.config.JpaStorageSettings;
import ca.uhn.fhir.jpa.api.config.ThreadPoolFactoryConfig;
import ca.uhn.fhir.jpa.api.dao.IFhirSystemDao;
import ca.uhn.fhir.jpa.batch2.JpaBatch2Config;
import ca.uhn.fhir.jpa.config.r4.JpaR4Config;
import ca.uhn.fhir.jpa.provider.DiffProvider;
import ca.uhn.fhir.jpa.provider.IJpaSystemProvider;
import ca.uhn.fhir.jpa.provider.JpaCapabilityStatementProvider;
import ca.uhn.fhir.jpa.provider.SubscriptionTriggeringProvider;
import ca.uhn.fhir.jpa.provider.TerminologyUploaderProvider;
import ca.uhn.fhir.jpa.provider.ValueSetOperationProvider;
import ca.uhn.fhir.jpa.search.DatabaseBackedPagingProvider;
import ca.uhn.fhir.jpa.subscription.channel.config.SubscriptionChannelConfig;
import ca.uhn.fhir.jpa.subscription.match.config.SubscriptionProcessorConfig;
import ca.uhn.fhir.jpa.subscription.submit.config.SubscriptionSubmitterConfig;
import ca.uhn.fhir.narrative2.NullNarrativeGenerator;
import ca.uhn.fhir.rest.api.EncodingEnum;
import ca.uhn.fhir.rest.server.RestfulServer;
import ca.uhn.fhir.rest.server.interceptor.CorsInterceptor;
import ca.uhn.fhir.rest.server.interceptor.ResponseHighlighterInterceptor;
import ca.uhn.fhir.rest.server.provider.ResourceProviderFactory;
import ca.uhn.fhir.rest.server.util.ISearchParamRegistry;
import java.nio.file.Path;
import java.util.List;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.valves.ErrorReportValve;
import org.apache.tomcat.util.descriptor.web.FilterDef;
import org.apache.tomcat.util.descriptor.web.FilterMap;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.web.cors.CorsConfiguration;
import org.springframework.web.filter.CharacterEncodingFilter;

/** HAPI FHIR R4 on the loopback address: {@code java Hapi PORT FOLDER}. The record is gone when it ends. */
public class Hapi {

  private static final Class<?>[] OF_HAPI = {
    JpaR4Config.class,
    JpaBatch2Config.class,
    Batch2JobsConfig.class,
    ThreadPoolFactoryConfig.class,
    SubscriptionChannelConfig.class,
    SubscriptionProcessorConfig.class,
    SubscriptionSubmitterConfig.class,
  };

  private static final List<Class<?>> OPERATIONS =
      List.of(
          IJpaSystemProvider.class,
          ValueSetOperationProvider.class,
          TerminologyUploaderProvider.class,
          SubscriptionTriggeringProvider.class,
          ReindexProvider.class,
          DiffProvider.class);

  public static void main(String[] arguments) throws Exception {
    int port = Integer.parseInt(arguments[0]);
    Path folder = Path.of(arguments[1]);

    var beans = new AnnotationConfigApplicationContext();
    beans.register(Database.class);
    beans.register(OF_HAPI);
    beans.refresh();

    Tomcat tomcat = web(port, folder, endpoint(beans));
    tomcat.start();
    Runtime.getRuntime().addShutdownHook(new Thread(beans::close));
    tomcat.getServer().await();
  }

  /** What answers below /fhir. */
  private static RestfulServer endpoint(AnnotationConfigApplicationContext beans) {
    var system = (IFhirSystemDao<?, ?>) beans.getBean(IFhirSystemDao.class);
    var fhir = system.getContext();
    fhir.setNarrativeGenerator(new NullNarrativeGenerator());

    var endpoint = new RestfulServer(fhir);
    endpoint.setDefaultResponseEncoding(EncodingEnum.JSON);
    endpoint.setDefaultPrettyPrint(true);
    endpoint.setPagingProvider(beans.getBean(DatabaseBackedPagingProvider.class));
    endpoint.registerProviders(beans.getBean(ResourceProviderFactory.class).createProviders());
    OPERATIONS.forEach(operation -> endpoint.registerProvider(beans.getBean(operation)));

    var capabilities =
        new JpaCapabilityStatementProvider(
            endpoint,
            system,
            beans.getBean(JpaStorageSettings.class),
            beans.getBean(ISearchParamRegistry.class),
            beans.getBean(IValidationSupport.class));
    capabilities.setImplementationDescription("HAPI FHIR R4 Server");
    endpoint.setServerConformanceProvider(capabilities);

    endpoint.registerInterceptor(new ResponseHighlighterInterceptor());
    endpoint.registerInterceptor(new CorsInterceptor(anyOrigin()));
    return endpoint;
  }

  private static CorsConfiguration anyOrigin() {
    var cors = new CorsConfiguration();
    cors.setAllowedOriginPatterns(List.of("*"));
    cors.setAllowedMethods(List.of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"));
    cors.setAllowedHeaders(List.of("Accept", "Authorization", "Cache-Control", "Content-Type", "Origin", "Prefer"));
    cors.setExposedHeaders(List.of("Location", "Content-Location"));
    return cors;
  }

  /** Tomcat as the image has it: bars may stand in a query, bodies are UTF-8, error pages tell nothing. */
  private static Tomcat web(int port, Path folder, RestfulServer endpoint) {
    var tomcat = new Tomcat();
    tomcat.setBaseDir(folder.toString());
    tomcat.setPort(port);
    tomcat.getConnector().setProperty("address", "127.0.0.1");
    tomcat.getConnector().setProperty("relaxedQueryChars", "|");

    Context root = tomcat.addContext("", null);
    root.addFilterDef(asUtf8());
    root.addFilterMap(everywhere());
    Tomcat.addServlet(root, "endpoint", endpoint).setLoadOnStartup(1);
    root.addServletMappingDecoded("/fhir/*", "endpoint");

    var errors = new ErrorReportValve();
    errors.setShowReport(false);
    errors.setShowServerInfo(false);
    tomcat.getHost().getPipeline().addValve(errors);
    return tomcat;
  }

  private static FilterDef asUtf8() {
    var filter = new FilterDef();
    filter.setFilterName("UTF-8");
    filter.setFilter(new CharacterEncodingFilter("UTF-8", true));
    return filter;
  }

  private static FilterMap everywhere() {
    var map = new FilterMap();
    map.setFilterName("UTF-8");
    map.addURLPattern("/*");
    return map;
  }
}
